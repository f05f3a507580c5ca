"""De-identified text: what a policy does with each labeled span. Offsets are code points, end-exclusive."""
