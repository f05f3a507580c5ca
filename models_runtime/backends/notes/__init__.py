"""A note as input of trained backends: tokens, lines, header fields, tags of the rules, and sequences."""
