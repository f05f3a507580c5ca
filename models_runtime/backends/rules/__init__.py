"""The rules backend; `models_runtime.backends.rules.RulesBackend` is its dotted path."""

from models_runtime.backends.rules.backend import RulesBackend

__all__ = ["RulesBackend"]
