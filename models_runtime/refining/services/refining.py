"""Start refinements, and keep the guidance for agents. The work itself is in models_runtime.refining.jobs.refining."""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db import transaction
from django.db.models import Count, QuerySet
from django.utils.translation import gettext as _

from annotations.core.services import ServiceError, check_choice, good_name
from annotations.gold.selectors import versions
from annotations.jobs.services.queue import key_of, locked, start_for, started_with
from annotations.models import AnnotationSet, AnnotationSetState, Author, AuthorKind, GoldVersion, Job, Project, User
from annotations.projects.selectors.labels import accepted_labels
from annotations.text.names import WordingError, worded
from models_runtime.backends.llm.prompts import VERSION, digest
from models_runtime.backends.refining.state import LONGEST, NAME, Component
from models_runtime.backends.refining.todo import Action
from models_runtime.core.registry import LLM, SET_UP
from models_runtime.models import InjectedRun, RefinedItem, Refinement, ReviewSkill
from models_runtime.refining.events import REFINEMENT_STARTED, SKILL_CHANGED, RefinementStarted
from models_runtime.refining.jobs.by_model import MOST
from models_runtime.refining.jobs.refining import METHODS, WITH_MODEL
from models_runtime.refining.selectors import gold_version, present, skills_of
from models_runtime.runs.services.llm import checked_params, default_language, prompt_labels, prompt_of, servers
from models_runtime.runs.services.runs import new_author

# The language model of a refinement: the server, the model and the prompt, and whether notes may be sent to it.


AGENT: Final = "agent"
MOST_LIMIT: Final = 2**31 - 1
"""The highest limit of questions or tokens for a note."""


@dataclass(frozen=True)
class RefinementChoice:
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


NOTHING_ASKED: Final = RefinementChoice()


def check_settings(asked: RefinementChoice, task: str) -> None:
    """Check what a method's questions can be set to. `task`: that of its prompt, empty without a language model.

    Raises ServiceError `without`, `steps`, `tokens`, `examples` and `preset`, also for a setting that the method
    doesn't have.
    """
    unknown = [name for name in asked.without if name not in list(Component)]
    if unknown or (asked.without and task != AGENT):
        message = _("Only the agent has components to switch off: %(choices)s.")
        raise ServiceError(message % {"choices": ", ".join(Component)}, code="without")
    for code, limit in (("steps", asked.steps), ("tokens", asked.tokens)):
        if limit and task != AGENT:
            raise ServiceError(_("Only the agent with a language model has limits of questions and tokens."), code=code)
        if not 0 <= limit <= MOST_LIMIT:
            message = _("A limit for a note must be from 0 to %(most)d, not %(count)d.")
            raise ServiceError(message % {"most": MOST_LIMIT, "count": limit}, code=code)
    if not 0 <= asked.examples <= MOST:
        message = _("The number of examples must be from 0 to %(most)d, not %(count)d.")
        raise ServiceError(message % {"most": MOST, "count": asked.examples}, code="examples")
    if asked.examples and task == AGENT:
        raise ServiceError(_("The agent has no examples in its questions. Write them as guidance."), code="examples")
    if asked.examples and not task:
        raise ServiceError(_("Only questions to a language model can have examples."), code="examples")
    if asked.preset and not task:
        raise ServiceError(_("Only questions to a language model have a printed prompt."), code="preset")


def fields_of(project: Project, asked: RefinementChoice, task: str) -> dict[str, Any]:
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


def _of_agent(project: Project, asked: RefinementChoice, language: str) -> dict[str, Any]:
    """The parameters of an agent, with the versions of the skills as they are now."""
    used = skills_of(project, language)
    return {
        "skills": {name: skill.version for name, skill in used.items()},
        "steps": asked.steps,
        "tokens": asked.tokens,
    }


KIND: Final = "refine"
SOURCES: Final = (AuthorKind.RUN, AuthorKind.BENCH)


def start_refinement(
    *,
    project: Project,
    source: str,
    method: str,
    actor: User | None,
    name: str = "",
    gold: int | None = None,
    key: str,
    asked: RefinementChoice = NOTHING_ASKED,
) -> Refinement:
    """Start to refine the annotations of a run, a merged list, or a run of injected errors, by its name.

    The offline agent learns from the gold version with the number `gold`, by default the one that the errors were put
    into, else the newest one; in a project without one, it decides by validators alone. A language model's examples are
    from `gold`. `asked` is the choice of a language model. A client over MCP decides without a job and without gold. A
    repeated call with the same `key` returns the same refinement. Raises ServiceError `run`, `method`, `gold`, `empty`
    and `exists`, and what check_settings and fields_of raise.
    """
    external = method == Refinement.Method.EXTERNAL
    methods = [*METHODS, str(Refinement.Method.EXTERNAL)]
    check_choice(method, methods, _("There is no method “%(name)s”. Choose one of: %(choices)s."), code="method")
    author = _source(project, source)
    notes = AnnotationSet.objects.filter(author=author, state=AnnotationSetState.SUBMITTED).count()
    if not notes:
        raise ServiceError(_("“%(name)s” has annotated no note yet.") % {"name": author.name}, code="empty")
    task = WITH_MODEL.get(method, "")
    check_settings(asked, task)
    fields = fields_of(project, asked, task) if task else {}
    version = None
    if not external and (gold is not None or not fields or asked.examples):
        version = _gold(project, author, gold, needed=bool(fields))
    name = good_name(name)
    kind = AuthorKind.BENCH if author.kind == AuthorKind.BENCH else AuthorKind.REFINED
    exists = _("A refinement named “%(name)s” already exists. Choose another name.") % {"name": name}
    with locked(project, exists):
        if existing := _started_with(project, key):
            return existing
        made = new_author(project, kind, name, f"{author.name}-{method}")
        row = Refinement.objects.create(
            project=project, source=author, author=made, method=method, gold_version=version, created_by=actor,
            key=key_of(KIND, key) if external else None, **fields,
        )  # fmt: skip
        if not external:
            params, queue = {"refinement_id": row.pk, "gold": version is not None}, SET_UP[LLM].queue if fields else ""
            start_for(row, KIND, key, actor, params, total=notes, queue=queue)
        data: RefinementStarted = {"source": author.pk, "author": made.pk, "method": method}
        REFINEMENT_STARTED.record(actor=actor, project_id=project.pk, data=data)
    return row


def sources_of(project: Project) -> "QuerySet[Author]":
    """Whose annotations can be refined: runs, merged lists and injected errors, the newest first."""
    return Author.objects.filter(project=project, kind__in=SOURCES, refinement__isnull=True).order_by("-pk")


def _started_with(project: Project, key: str) -> Refinement | None:
    """Return the refinement that was started with this key, with or without a job; None if there is none."""
    without_job = Refinement.objects.filter(project=project, key=key_of(KIND, key)).first()
    return without_job or started_with(Refinement, project, KIND, key)


def _source(project: Project, name: str) -> Author:
    rows = sources_of(project)
    found = rows.filter(name=name).first()
    if found is None:
        known = ", ".join(rows.order_by("pk").values_list("name", flat=True)) or _("none yet")
        message = _("There is no run “%(name)s”. Runs: %(known)s.")
        raise ServiceError(message % {"name": name, "known": known}, code="run")
    return found


def _gold(project: Project, source: Author, number: int | None, *, needed: bool) -> GoldVersion | None:
    """The version to learn from. Raises ServiceError `gold` for an unknown number, or without one if `needed`."""
    if number is not None:
        return gold_version(project, number)
    injected = InjectedRun.objects.filter(author=source).select_related("gold_version").first()
    if injected is not None:
        return injected.gold_version
    newest = next((version for version in versions(project) if version.span_count), None)
    if newest is None and needed:
        message = _("Examples need gold. This project has no frozen gold version. Freeze one first.")
        raise ServiceError(message, code="gold")
    return newest


# What refinements did and what they took: decisions, calls of a language model, time, tokens and cost.


@dataclass(frozen=True)
class Effort:
    """The decisions of a refinement so far, and what they took.

    `seconds` is the duration of its job, without waiting in the queue; null until it ends. `answering` are the seconds
    spent on a model's answers, summed over simultaneous questions. `cost` is in `currency` at today's price of the
    server; null where no price is known.
    """

    notes: int
    annotations: int
    kept: int
    updated: int
    removed: int
    calls: int
    seconds: float | None
    answering: float
    tokens_in: int
    tokens_out: int
    cost: float | None
    currency: str


def efforts_of(rows: Sequence[Refinement]) -> dict[int, Effort]:
    """The efforts of refinements, by id."""
    counts: defaultdict[int, Counter[str]] = defaultdict(Counter)
    items = RefinedItem.objects.filter(refinement__in=rows).order_by().values_list("refinement", "action")
    for pk, action, count in items.annotate(count=Count("pk")):
        counts[pk][action] = count
    authors = [row.author_id for row in rows]
    sets = AnnotationSet.objects.filter(author__in=authors).order_by().values_list("author")
    notes = dict(sets.annotate(count=Count("pk")))
    costs = {row.pk: _cost(row) for row in rows}
    return {
        row.pk: Effort(
            notes=notes.get(row.author_id, 0),
            annotations=sum(counts[row.pk][action] for action in Action),
            kept=counts[row.pk][Action.KEEP],
            updated=counts[row.pk][Action.UPDATE],
            removed=counts[row.pk][Action.REMOVE],
            seconds=_seconds(row.job),
            calls=row.calls, answering=row.seconds, tokens_in=row.tokens_in, tokens_out=row.tokens_out,
            cost=costs[row.pk][0], currency=costs[row.pk][1],
        )
        for row in rows
    }  # fmt: skip


def _cost(row: Refinement) -> tuple[float | None, str]:
    price = next((one.price for one in servers() if one.name == row.server), None)
    return (float(price.of(row.tokens_in, row.tokens_out)), price.currency) if price else (None, "")


def _seconds(job: Job | None) -> float | None:
    if job is None or job.started_at is None or job.finished_at is None:
        return None
    return (job.finished_at - job.started_at).total_seconds()


# Change the skills of a project.


def set_skill(
    *,
    project: Project,
    name: str,
    labels: Iterable[str],
    text: str,
    actor: User | None,
    seen_version: int | None = None,
) -> int:
    """Save a new version of a skill, and return its number. Without a change, the present number is returned.

    An empty text switches the skill off. Raises ServiceError `name`, `labels`, `text`, and `stale` if somebody saved
    another version after `seen_version`.
    """
    if not NAME.fullmatch(name):
        message = _(
            "The name must begin with a lowercase letter and contain only a-z, 0-9 and hyphens, at most 40 characters."
        )
        raise ServiceError(message, code="name")
    try:
        text = worded(text, LONGEST, blank=True)
    except WordingError as error:
        raise ServiceError(str(error), code="text") from error
    codes = sorted(set(labels))
    _accepted, ids = accepted_labels(project)
    unknown = [code for code in codes if code != "*" and code not in ids]
    if unknown:
        message = _("There is no label “%(code)s”. Labels: %(known)s.")
        raise ServiceError(message % {"code": unknown[0][:40], "known": ", ".join(sorted(ids))}, code="labels")
    if text and not codes:
        raise ServiceError(_("Name at least one label, or * for all."), code="labels")
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=project.pk)
        old = present(project, name)
        if seen_version is not None and seen_version != old.version:
            message = _("Someone else saved this guidance meanwhile. Your text was not saved. It is still in the form.")
            raise ServiceError(message, code="stale")
        if (codes, text) == (sorted(old.labels), old.text):
            return old.version
        row = ReviewSkill.objects.create(
            project=project, name=name, version=old.version + 1, labels=codes, text=text, created_by=actor
        )
        SKILL_CHANGED.record(
            actor=actor, project_id=project.pk, data={"skill": row.pk, "version": row.version, "length": len(text)}
        )
    return row.version
