"""Zero-shot span models: GLiNER (Zaratiana et al. 2024) from a folder, with labels given as words."""
