"""The database models of `models_runtime`."""

from models_runtime.models.calibration import Calibration
from models_runtime.models.injecting import InjectedError, InjectedRun, SystemicError, SystemicExample
from models_runtime.models.judging import Judge, JudgedNote, Judging, Judgment
from models_runtime.models.llm import LlmAnswer, LlmUsage, ServerCapacity
from models_runtime.models.refining import RefinedItem, Refinement
from models_runtime.models.run import Run, RunItem, RunItemState
from models_runtime.models.skills import ReviewSkill
from models_runtime.models.trained import OF_MODEL, TrainedModel, TrainedModelState

__all__ = [
    "OF_MODEL",
    "Calibration",
    "InjectedError",
    "InjectedRun",
    "Judge",
    "JudgedNote",
    "Judging",
    "Judgment",
    "LlmAnswer",
    "LlmUsage",
    "RefinedItem",
    "Refinement",
    "ReviewSkill",
    "Run",
    "RunItem",
    "RunItemState",
    "ServerCapacity",
    "SystemicError",
    "SystemicExample",
    "TrainedModel",
    "TrainedModelState",
]
