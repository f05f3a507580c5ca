"""Other forms of training notes: without their header, and copies with surrogates."""
