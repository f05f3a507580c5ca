"""Model backends: each turns texts into spans. They import neither Django nor the queue."""

from models_runtime.backends.base import Backend, BackendError, load

__all__ = ["Backend", "BackendError", "load"]
