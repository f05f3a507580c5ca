"""What machines do with notes, as rows."""

from models_runtime.models.calibration import Calibration
from models_runtime.models.judging import Judge, JudgedNote, Judgement, Judging
from models_runtime.models.llm import LlmAnswer, LlmUsage, ServerRoom
from models_runtime.models.run import Run, RunItem
from models_runtime.models.trained import OF_MODEL, TrainedModel

__all__ = [
    "OF_MODEL",
    "Calibration",
    "Judge",
    "JudgedNote",
    "Judgement",
    "Judging",
    "LlmAnswer",
    "LlmUsage",
    "Run",
    "RunItem",
    "ServerRoom",
    "TrainedModel",
]
