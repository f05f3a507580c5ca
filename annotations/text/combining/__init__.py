"""Several runs' suggestions on one note, combined by votes or merged into one list."""
