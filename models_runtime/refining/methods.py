"""The methods that a job carries out, with the functions that do it: `function(claim, refinement)`, safe to repeat.

A client over MCP decides without a job, so it isn't here.
"""

from typing import Final

from models_runtime.models import Refinement

METHODS: Final[dict[str, str]] = {
    Refinement.Method.OFFLINE: "models_runtime.refining.offline.refine",
}
