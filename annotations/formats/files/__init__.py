"""Reading and writing files that don't hold annotations: CSV, JSON, zip."""
