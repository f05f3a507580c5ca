"""What machines do with notes, as rows."""

from models_runtime.models.job import Job

__all__ = ["Job"]
