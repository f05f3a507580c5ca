"""Runs of a language model: servers and parameters, the consent to send notes, and costs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from django.conf import settings
from django.db.models import QuerySet, Sum
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.models import Project, Release, User
from annotations.projects.selectors.labels import labels_of
from models_runtime.backends.llm import prompts
from models_runtime.backends.llm.servers import Params, Server, read_params
from models_runtime.core.registry import LLM
from models_runtime.models import Judge, LlmUsage, Run
from models_runtime.runs.services.backends import ChosenBackend, check_consent
from models_runtime.runs.services.rewriting import mapping_for
from models_runtime.runs.services.runs import started

# The consent to send notes to another machine: one rule for all kinds of servers.


def servers() -> list[Server]:
    """List the servers in DEIDREVIEW_LLM_SERVERS."""
    return list(settings.LLM_SERVERS.values())


def leaving() -> list[Server]:
    """List the servers to which notes would leave this machine."""
    return [server for server in servers() if server.leaves_machine]


def checked_params(given: Mapping[str, object], *, may_leave: bool) -> Params:
    """Check the parameters of a run. Raises ServiceError `params` with the choices, and `leaves` without consent."""
    try:
        params = read_params(given, settings.LLM_SERVERS)
    except ValueError as error:
        raise ServiceError(str(error), code="params") from error
    check_consent([settings.LLM_SERVERS[params.server]], may_leave=may_leave)
    return params


def prompt_labels(project: Project) -> list[prompts.LabelWord]:
    """Return the project's labels for the prompt. Raises ServiceError `labels` if there are none."""
    labels = [prompts.LabelWord(row.code, row.name, row.description, row.placeholder) for row in labels_of(project)]
    if not labels:
        raise ServiceError(_("This project has no labels. Add labels first."), code="labels")
    return labels


def start_llm_run(
    *, project: Project, given: Mapping[str, object], may_leave: bool, actor: User | None, key: str, name: str = ""
) -> Run:
    """Start a run over all notes. Prompt and labels are stored now and don't change later. Raises ServiceError."""
    # The rules behind the examples take long to load, and few requests need them.
    from models_runtime.backends.llm.evidence import shots_of

    params = checked_params({"language": default_language(project)} | dict(given), may_leave=may_leave)
    labels = prompt_labels(project)
    stored = params.as_dict() | {
        "prompt": prompts.prompt_of_run(
            params.strategy,
            params.language,
            labels,
            params.template,
            descriptions=params.descriptions,
            shots=shots_of(params.language, labels, project.label_set.key) if params.examples else [],
        ),
        "prompt_version": prompts.version_of(params.template),
        "mapping": mapping_for(project),
        "labels": [[label.code, label.name, label.description, label.placeholder] for label in labels],
    }
    return started(
        project=project, choice=ChosenBackend(LLM, None, LLM), actor=actor, name=name, params=stored, key=key
    )


def prompt_of(task: str, language: str, labels: Sequence[prompts.LabelWord], preset: str) -> dict[str, str]:
    """Return the prompt of judges or refiners, its version and language, as fields of their rows.

    A preset decides on the language. Raises ServiceError `preset` for one that isn't for the task.
    """
    if preset and preset not in prompts.presets_of([task]):
        raise ServiceError(
            _("There is no printed prompt “%(name)s” for these rules or this method. Choose one of: %(choices)s.")
            % {"name": preset[:80], "choices": ", ".join(prompts.presets_of([task])) or _("none")},
            code="preset",
        )
    template = prompts.printed(preset) if preset else ""
    language = prompts.PRESETS[preset].language if preset else language
    prompt = prompts.system_prompt(task, language, labels, template)
    return {"prompt": prompt, "prompt_version": prompts.version_of(template), "language": language}


def default_language(project: Project) -> str:
    """Return the language of the prompt: the project's if there is a prompt in it."""
    return project.language if project.language in prompts.LANGUAGES else ""


def prompts_of(project: Project, tasks: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return each task's prompt in each language, with a title and the project's labels. `tasks` maps keys to titles.

    The prompt for one label has the first label, as an example. The printed prompts for these tasks follow.
    """
    labels = prompt_labels(project)
    built_in = [
        (f"{title}, {language}", prompts.system_prompt(task, code, labels[:1] if task == prompts.BY_LABEL else labels))
        for task, title in tasks.items()
        for code, language in prompts.LANGUAGES.items()
    ]
    return built_in + [(source, prompts.printed(name)) for name, source in prompts.presets_of(tasks).items()]


@dataclass(frozen=True)
class Usage:
    """Sums of counts and costs. `wrong` counts the parts of answers that were ignored.

    `cost` is None if some of the usage has no price.
    """

    counts: dict[str, int]
    wrong: int
    cost: Decimal | None
    currency: str

    def as_dict(self) -> dict[str, Any]:
        """Return the usage as commands print it."""
        cost = None if self.cost is None else str(self.cost)
        return self.counts | {"cost": cost, "currency": self.currency or None}


def usage_of(run: Run) -> Usage | None:
    """Return the usage of a language model's run so far, or None for other runs."""
    if run.backend != LLM:
        return None
    used = _summed(LlmUsage.objects.filter(run=run), run.params.get("server", ""))
    return replace(used, wrong=used.wrong - used.counts["ambiguous"]) if suggests_all_places(run) else used


def suggests_all_places(run: Run) -> bool:
    """Return whether mentions without a clear place are suggested at all their places. Older runs left them out."""
    return "overlap" in run.params


def usage_of_judge(judge: Judge) -> Usage:
    """Return the usage of a judge so far."""
    return _summed(LlmUsage.objects.filter(judge=judge), judge.server)


def usage_of_release(release: Release) -> Usage | None:
    """Return the usage of the language model that makes a release's surrogates, or None if rules make them."""
    server = release.surrogate_maker.get("server", "")
    return _summed(LlmUsage.objects.filter(release=release), server) if server else None


def usage_of_project(project: Project) -> Usage | None:
    """Return the usage for the index of surrogates without a release, or None if no model was asked."""
    rows = LlmUsage.objects.filter(project=project)
    return _summed(rows, "") if rows.exists() else None


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
    """Return the currency of the server's prices, or an empty string if it has none."""
    found = settings.LLM_SERVERS.get(server)
    return found.price.currency if found and found.price else ""


def server_of(run: Run) -> Server | None:
    """Return the run's server, or None if it is no longer listed."""
    found: Server | None = settings.LLM_SERVERS.get(run.params.get("server", ""))
    return found if run.backend == LLM else None
