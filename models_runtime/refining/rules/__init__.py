"""Errors injected into a gold standard, to measure who catches them (Xu et al. 2026, section 5 and appendix C)."""
