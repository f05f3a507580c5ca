"""Start judgings, and start them again for missing verdicts. The work itself is in `refining.jobs.judging`."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.conf import settings
from django.db import transaction
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext, gettext_lazy

from annotations.core.access import Access, authors_for
from annotations.core.services import ServiceError
from annotations.jobs.services.queue import LIVE, start_for, started_with
from annotations.models import GoldVersion, Job, Project, User
from annotations.scores.rules.judging import MIRANDA, RULES, STANDARD, THRESHOLD
from annotations.scores.selectors import compared
from annotations.scores.services.scoring import ScoreRequest, score_request
from models_runtime.models import Judge, Judging
from models_runtime.refining.events import JUDGING_STARTED, JudgingStarted
from models_runtime.refining.jobs.judging import ready_again
from models_runtime.runs.services.backends import check_consent
from models_runtime.runs.services.llm import default_language, prompt_labels, prompt_of

RULE_NAMES: Final[Mapping[str, Any]] = {
    STANDARD.key: gettext_lazy("Standard rules"),
    MIRANDA.key: gettext_lazy("Rules of Miranda et al. 2025"),
}
# The prompt of each rules (models_runtime.backends.llm.prompts), and its title.
PROMPTS: Final[Mapping[str, str]] = {STANDARD.key: "judge", MIRANDA.key: "judge-miranda-2025"}


def start_judging(
    *,
    project: Project,
    author: int,
    gold: int,
    judge: Sequence[str],
    may_leave: bool,
    actor: User | None,
    key: str,
    split: str = "",
    notes: int | None = None,
    rules: str = STANDARD.key,
    unit: str = "",
    temperature: float | None = None,
    threshold: float | None = None,
    language: str = "",
    preset: str = "",
) -> Judging:
    """Start a judging of the annotations of an author (id). The values are those of a valid JudgeForm.

    `judge` are “server model”. Without a language, the prompt is in that of the project, or else in English; without a
    unit or temperature, the rules decide. `preset` names a printed prompt for the rules, which decides on the language.
    A repeated call with the same `key` returns the same judging. Raises ServiceError, with the choices in its message,
    and `leaves` if notes would leave this machine without consent.
    """
    wanted, version = _wanted(project, gold, author, split)
    chosen = [(server, model) for server, _space, model in (one.partition(" ") for one in dict.fromkeys(judge))]
    check_consent([settings.LLM_SERVERS[server] for server, _model in chosen], may_leave=may_leave)
    counted_by, labels = RULES[rules], prompt_labels(project)
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=project.pk)
        if existing := started_with(Judging, project, "judge", key):
            return existing
        judging = Judging.objects.create(
            project=project,
            author=wanted.author,
            gold_version=version,
            split=split,
            most_notes=notes,
            rules=rules,
            unit=unit or counted_by.unit,
            temperature=counted_by.temperature if temperature is None else temperature,
            threshold=THRESHOLD if threshold is None else threshold,
            **prompt_of(PROMPTS[rules], language or default_language(project) or "en", labels, preset),
            labels=[[label.code, label.placeholder] for label in labels],
            created_by=actor,
        )
        for position, (server, model) in enumerate(chosen):
            Judge.objects.create(judging=judging, position=position, server=server, model=model)
        _start(judging, key, actor)
        names = [f"{server}/{model}" for server, model in chosen]
        data: JudgingStarted = {"judging": judging.pk, "gold": gold, "judges": names}
        JUDGING_STARTED.record(actor=actor, project_id=project.pk, data=data)
    return judging


def judging_for(access: Access, pk: int) -> Judging:
    """A judging of annotations that this person may see. Raises Http404."""
    rows = Judging.objects.select_related("author", "gold_version", "job__created_by", "created_by")
    return get_object_or_404(rows, project=access.project, author__in=authors_for(access), pk=pk)


def judge_again(*, judging: Judging, actor: User | None) -> None:
    """Start a new job that asks for missing and failed verdicts. Raises ServiceError `live` while a job is working."""
    with transaction.atomic():
        Project.objects.select_for_update(no_key=True).get(pk=judging.project_id)
        held = Judging.objects.select_for_update(of=("self",)).select_related("job", "project").get(pk=judging.pk)
        if held.job is not None and held.job.state in LIVE:
            raise ServiceError(
                gettext("The judges are still working. Wait until they finish, or cancel the job."), code="live"
            )
        ready_again({"judging_id": held.pk})
        begun = Job.objects.filter(project=held.project, kind="judge", key__startswith=f"judge-{held.pk}-again-")
        _start(held, f"{held.pk}-again-{begun.count() + 1}", actor)


def _start(judging: Judging, key: str, actor: User | None) -> None:
    start_for(judging, "judge", key, actor, {"judging_id": judging.pk, "author_id": judging.author_id})


def _wanted(project: Project, gold: int, author: int, split: str) -> tuple[ScoreRequest, GoldVersion]:
    wanted = score_request(project, version=gold, author_id=author, split=split)
    version = wanted.reference.version
    if version is None:
        raise ServiceError(gettext("Judges need a frozen gold version. Enter its number."), code="version")
    if not compared(wanted.reference, wanted.author, split=split).count:
        message = gettext(
            "%(name)s has no submitted annotations of notes in this gold version. Choose another author or version."
        )
        raise ServiceError(message % {"name": wanted.author.name}, code="notes")
    return wanted, version
