"""Token classification by a transformer: a folder of weights, or one that was trained here."""

from models_runtime.backends.token_classification.backend import TokenClassificationBackend

__all__ = ["TokenClassificationBackend"]
