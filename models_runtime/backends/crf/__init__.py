"""Linear-chain CRF (J. Lafferty, A. McCallum, F. Pereira, ICML 2001) by crfsuite: learns on a CPU in minutes."""

from models_runtime.backends.crf.backend import CrfBackend

__all__ = ["CrfBackend"]
