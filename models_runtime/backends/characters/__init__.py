"""Character language models as models of their own (Akbik et al. 2018; Catelli 2021, section 3.2.1)."""
