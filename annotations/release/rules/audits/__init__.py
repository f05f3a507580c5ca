"""Audits of a release: sampling released notes, planting leaks, and exact bounds of the share of notes with a leak."""
