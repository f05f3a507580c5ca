"""Recordings in, words with times out. Workers and commands load these modules; none knows Django."""
