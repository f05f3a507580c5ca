"""Linear-chain CRF (Lafferty et al. 2001), trained by crfsuite on a CPU in minutes."""

from models_runtime.backends.crf.backend import CrfBackend

__all__ = ["CrfBackend"]
