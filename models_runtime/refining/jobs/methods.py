"""The methods that a job carries out, with the functions that do it: `function(claim, refinement)`, safe to repeat.

A client over MCP decides without a job, so it isn't here.
"""

from typing import Final

from models_runtime.models import Refinement

METHODS: Final[dict[str, str]] = {
    Refinement.Method.OFFLINE: "models_runtime.refining.jobs.offline.refine",
    Refinement.Method.SINGLE: "models_runtime.refining.jobs.single.refine",
    Refinement.Method.AGENT: "models_runtime.refining.jobs.agentic.refine",
}
WITH_MODEL: Final[dict[str, str]] = {Refinement.Method.SINGLE: "refine", Refinement.Method.AGENT: "agent"}
"""The methods that ask a language model, with the task of their prompt."""
