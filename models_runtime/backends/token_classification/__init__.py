"""Token classification by a transformer: weights from a folder, or a model that was trained here."""

from models_runtime.backends.token_classification.backend import TokenClassificationBackend

__all__ = ["TokenClassificationBackend"]
