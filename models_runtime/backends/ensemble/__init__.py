"""Several backends as one: each reads, then they vote (annotations.domain.voting)."""

from models_runtime.backends.ensemble.backend import EnsembleBackend, Votes

__all__ = ["EnsembleBackend", "Votes"]
