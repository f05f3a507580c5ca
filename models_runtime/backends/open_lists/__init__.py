"""Names and towns from open lists; NOTICE.md names their sources and licenses."""
