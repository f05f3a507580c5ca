"""spaCy pipelines trained elsewhere: installed packages, and folders on this machine."""
