"""Events of certificates."""
