"""An ensemble of backends: each predicts, then they vote (annotations.text.combining)."""

from models_runtime.backends.ensemble.backend import EnsembleBackend, Votes

__all__ = ["EnsembleBackend", "Votes"]
