"""What machines do with notes, as rows."""

from models_runtime.models.job import Job
from models_runtime.models.run import Run, RunItem
from models_runtime.models.trained import TrainedModel

__all__ = ["Job", "Run", "RunItem", "TrainedModel"]
