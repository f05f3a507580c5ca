"""spaCy pipelines that others trained: installed packages, and folders on this machine."""
