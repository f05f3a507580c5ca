"""The language model of a refinement: the server, the model and the prompt, and whether notes may be sent to it."""

from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.models import Project
from models_runtime.backends.llm.prompts import VERSION, digest, system_prompt
from models_runtime.refining.examples import MOST
from models_runtime.runs.services.llm import checked_params, default_language, prompt_labels


@dataclass(frozen=True)
class Asked:
    """What a person chose. Without a server or model, the first one; without a language, the project's, else English.

    `examples`: annotations of other patients in each question. `may_leave`: notes may be sent to another machine.
    """

    server: str = ""
    model: str = ""
    language: str = ""
    examples: int = 0
    may_leave: bool = False


def fields_of(project: Project, asked: Asked, task: str = "refine") -> dict[str, Any]:
    """The fields of a refinement with a language model, with the prompt of a task as it is now.

    Raises ServiceError `params`, `examples`, `labels`, and `leaves` if notes would leave without consent.
    """
    if not 0 <= asked.examples <= MOST:
        raise ServiceError(
            _("The number of examples must be from 0 to %(most)d, not %(count)d.")
            % {"most": MOST, "count": asked.examples},
            code="examples",
        )
    given = {"server": asked.server, "model": asked.model, "language": asked.language or default_language(project)}
    params = checked_params(given, may_leave=asked.may_leave)
    prompt = system_prompt(task, params.language, prompt_labels(project))
    return {
        "server": params.server,
        "model": params.model,
        "language": params.language,
        "prompt": prompt,
        "prompt_version": VERSION,
        "params": {"examples": asked.examples},
        "revision": digest(VERSION, params.server, params.model, prompt, str(asked.examples))[:16],
    }
