"""Known identifiers: what a patient master says about a person, and its mentions in notes. Offsets are code points."""
