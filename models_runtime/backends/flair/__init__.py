"""Taggers of Flair (Akbik et al. 2018) from a folder that the script in docs/flair.md wrote."""
