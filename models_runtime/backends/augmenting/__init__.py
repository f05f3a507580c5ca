"""Other forms of annotated notes: other styles, and copies with surrogates."""
