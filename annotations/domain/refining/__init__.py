"""Refinement: every annotation of a note is kept, changed or removed, and none is added (Xu et al. 2026)."""
