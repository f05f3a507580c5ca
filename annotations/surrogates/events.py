"""Events of surrogates."""
