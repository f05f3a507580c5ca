"""Runs of a language model: what may be chosen, the word before text leaves the machine, and what a run cost."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db.models import QuerySet, Sum
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.models import Project, User
from annotations.projects.selectors.labels import labels_of
from models_runtime.backends.llm.params import STRATEGIES, Params, read_params
from models_runtime.backends.llm.prompts import LANGUAGES, VERSION, LabelWord, system_prompt
from models_runtime.backends.llm.servers import Server
from models_runtime.core.registry import LLM
from models_runtime.models import Judge, LlmUsage, Run
from models_runtime.runs.services.backends import Chosen
from models_runtime.runs.services.runs import started


def servers() -> list[Server]:
    """Those that the administrator listed."""
    return list(settings.LLM_SERVERS.values())


def checked_params(given: Mapping[str, Any], *, may_leave: bool) -> Params:
    """What is asked for. Raises ServiceError naming the choices, or where text would leave this machine unasked."""
    try:
        params = read_params(given, settings.LLM_SERVERS)
    except ValueError as error:
        raise ServiceError(str(error), code="params") from error
    refuse_unasked([settings.LLM_SERVERS[params.server]], may_leave=may_leave)
    return params


def refuse_unasked(asked: list[Server], *, may_leave: bool) -> None:
    """Raises ServiceError where text would leave this machine and nobody agreed to it."""
    hosts = sorted({server.host for server in asked if server.leaves_machine})
    if hosts and not may_leave:
        raise ServiceError(
            _("the notes would leave this machine, for %(choices)s: nothing was sent; agree to it first")
            % {"choices": ", ".join(hosts)},
            code="leaves",
        )


def words_of(project: Project) -> list[LabelWord]:
    """The project's labels as a model is told of them. Raises ServiceError where there are none."""
    words = [LabelWord(row.code, row.name, row.description, row.placeholder) for row in labels_of(project)]
    if not words:
        raise ServiceError(_("this project has no labels to look for"), code="labels")
    return words


def start_llm_run(
    *, project: Project, given: Mapping[str, Any], may_leave: bool, actor: User | None, key: str, name: str = ""
) -> Run:
    """A run over every note. Its prompt and labels are those of now, whenever it is worked on. Raises ServiceError."""
    there = Run.objects.filter(job__key=f"run-{key}").first()
    if there is not None:
        return there
    params = checked_params(given, may_leave=may_leave)
    words = words_of(project)
    kept = params.as_dict() | {
        "prompt": system_prompt(params.strategy, params.language, words),
        "prompt_version": VERSION,
        "labels": [[word.code, word.name, word.description, word.placeholder] for word in words],
    }
    return started(project=project, choice=Chosen(LLM, None, LLM), actor=actor, name=name, params=kept, key=key)


@dataclass(frozen=True)
class Shown:
    """A prompt as a page shows it."""

    title: str
    text: str


def prompts_of(project: Project, tasks: Mapping[str, str]) -> list[Shown]:
    """Each task's prompt in each language, with the project's labels; `tasks` by key, with its title."""
    words = words_of(project)
    return [
        Shown(f"{title}, {language}", system_prompt(task, code, words))
        for task, title in tasks.items()
        for code, language in LANGUAGES.items()
    ]


@dataclass(frozen=True)
class Usage:
    """Sums. `wrong`: how much of the answers was left out. `cost`: None where not all of it has a price."""

    counts: dict[str, int]
    wrong: int
    cost: Decimal | None
    currency: str

    def as_dict(self) -> dict[str, Any]:
        """What commands print."""
        cost = None if self.cost is None else str(self.cost)
        return self.counts | {"cost": cost, "currency": self.currency or None}


def usage_of(run: Run) -> Usage | None:
    """What a run of a language model cost so far; None for other runs."""
    if run.backend != LLM:
        return None
    return _summed(LlmUsage.objects.filter(run=run), run.params.get("server", ""))


def usage_of_judge(judge: Judge) -> Usage:
    """What a judge cost so far."""
    return _summed(LlmUsage.objects.filter(judge=judge), judge.server)


def _summed(rows: QuerySet[LlmUsage], server: str) -> Usage:
    sums = rows.aggregate(cost=Sum("cost"), **{f"sum_{name}": Sum(name) for name in LlmUsage.COUNTS})
    currencies = set(rows.values_list("currency", flat=True)) or {_currency(server)}
    known = len(currencies) == 1 and "" not in currencies
    counts = {name: sums[f"sum_{name}"] or 0 for name in LlmUsage.COUNTS}
    return Usage(
        counts=counts,
        wrong=sum(counts[name] for name in LlmUsage.WRONG),
        cost=sums["cost"] or Decimal(0) if known else None,
        currency=currencies.pop() if known else "",
    )


def _currency(server: str) -> str:
    """Of the server's prices; empty where there are none."""
    found = settings.LLM_SERVERS.get(server)
    return found.price.currency if found and found.price else ""


def server_of(run: Run) -> Server | None:
    """The run's server, where it is still listed."""
    found: Server | None = settings.LLM_SERVERS.get(run.params.get("server", ""))
    return found if run.backend == LLM else None


def form_choices() -> dict[str, Any]:
    """What the form of a run offers."""
    listed = servers()
    return {
        "servers": listed,
        "leaving": [server for server in listed if server.leaves_machine],
        "strategies": STRATEGIES,
        "languages": LANGUAGES,
        "prompt_version": VERSION,
    }
