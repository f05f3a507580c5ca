"""A note as learned backends see it: its tokens, lines and header fields, what the rules say of it, how it is cut."""
