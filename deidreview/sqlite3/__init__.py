"""Django's SQLite, with a queue for writers."""
