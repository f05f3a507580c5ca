"""The database models of `models_runtime`."""

from models_runtime.models.feeds import *  # noqa: F403
from models_runtime.models.refining import *  # noqa: F403
from models_runtime.models.runs import *  # noqa: F403
