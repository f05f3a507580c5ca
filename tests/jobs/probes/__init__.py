"""Kinds of job that only tests know, for this process and for the workers that tests start."""
