"""Surrogates: realistic replacements of identifiers (Singh et al. 2025, section 3.2 and appendix A.6)."""
