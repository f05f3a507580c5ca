"""The rules backend. Its dotted path is `models_runtime.backends.rules.RulesBackend`."""

from models_runtime.backends.rules.backend import RulesBackend

__all__ = ["RulesBackend"]
