"""Known identifiers: what the patient master and the deny list say (annotations.release.rules.known)."""

from models_runtime.backends.known.backend import KnownBackend

__all__ = ["KnownBackend"]
