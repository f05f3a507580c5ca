"""Events of known identifiers."""
