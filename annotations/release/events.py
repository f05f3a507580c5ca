"""Events of release."""
