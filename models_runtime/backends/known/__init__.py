"""Known identifiers: what the patient master and the deny list say (annotations.domain.knowing)."""

from models_runtime.backends.known.backend import KnownBackend

__all__ = ["KnownBackend"]
