"""The language model of a refinement: the server, the model and the prompt, and whether notes may be sent to it."""

import json
from dataclasses import dataclass
from typing import Any, Final

from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.models import Project
from models_runtime.backends.llm.prompts import VERSION, digest
from models_runtime.backends.refining.state import Component
from models_runtime.refining.jobs.examples import MOST
from models_runtime.refining.selectors.skills import skills_of
from models_runtime.runs.services.llm import checked_params, default_language, prompt_labels, prompt_of

AGENT: Final = "agent"
MOST_LIMIT: Final = 2**31 - 1
"""The highest limit of questions or tokens for a note."""


@dataclass(frozen=True)
class Asked:
    """What a person chose. Without a server or model, the first one; without a language, the project's, else English.

    `preset` names a printed prompt for the method, which decides on the language.
    `examples`: annotations of other patients in each question. `may_leave`: notes may be sent to another machine.
    `without`: components of the agent that are switched off. `steps` and `tokens`: its limits for one note, 0 for the
    usual ones.
    """

    server: str = ""
    model: str = ""
    language: str = ""
    examples: int = 0
    may_leave: bool = False
    without: tuple[str, ...] = ()
    steps: int = 0
    tokens: int = 0
    preset: str = ""


def check_settings(asked: Asked, task: str) -> None:
    """Check what a method's questions can be set to. `task`: that of its prompt, empty without a language model.

    Raises ServiceError `without`, `steps`, `tokens`, `examples` and `preset`, also for a setting that the method
    doesn't have.
    """
    unknown = [name for name in asked.without if name not in list(Component)]
    if unknown or (asked.without and task != AGENT):
        raise ServiceError(
            _("Only the agent has components to switch off: %(choices)s.") % {"choices": ", ".join(Component)},
            code="without",
        )
    for code, limit in (("steps", asked.steps), ("tokens", asked.tokens)):
        if limit and task != AGENT:
            raise ServiceError(_("Only the agent with a language model has limits of questions and tokens."), code=code)
        if not 0 <= limit <= MOST_LIMIT:
            raise ServiceError(
                _("A limit for a note must be from 0 to %(most)d, not %(count)d.")
                % {"most": MOST_LIMIT, "count": limit},
                code=code,
            )
    if not 0 <= asked.examples <= MOST:
        raise ServiceError(
            _("The number of examples must be from 0 to %(most)d, not %(count)d.")
            % {"most": MOST, "count": asked.examples},
            code="examples",
        )
    if asked.examples and task == AGENT:
        raise ServiceError(_("The agent has no examples in its questions. Write them as guidance."), code="examples")
    if asked.examples and not task:
        raise ServiceError(_("Only questions to a language model can have examples."), code="examples")
    if asked.preset and not task:
        raise ServiceError(_("Only questions to a language model have a printed prompt."), code="preset")


def fields_of(project: Project, asked: Asked, task: str) -> dict[str, Any]:
    """The fields of a refinement with a language model, with the prompt of a task as it is now.

    Raises ServiceError `params`, `labels`, `preset`, and `leaves` if notes would leave without consent.
    """
    given = {"server": asked.server, "model": asked.model, "language": asked.language or default_language(project)}
    params = checked_params(given, may_leave=asked.may_leave)
    prompt = prompt_of(task, params.language, prompt_labels(project), asked.preset)
    more = _of_agent(project, asked, params.language) if task == AGENT else {"examples": asked.examples}
    return {
        "server": params.server,
        "model": params.model,
        **prompt,
        "params": more,
        "switched_off": sorted(asked.without),
        "revision": digest(
            VERSION,
            params.server,
            params.model,
            prompt["prompt"],
            json.dumps([more, sorted(asked.without)], sort_keys=True),
        )[:16],
    }


def _of_agent(project: Project, asked: Asked, language: str) -> dict[str, Any]:
    """The parameters of an agent, with the versions of the skills as they are now."""
    used = skills_of(project, language)
    return {
        "skills": {name: skill.version for name, skill in used.items()},
        "steps": asked.steps,
        "tokens": asked.tokens,
    }
