"""Refiners: what decides about the annotations of a note. Pure code, without Django, the queue, or a language model."""
