"""Start judgings, and start them again for missing verdicts. The work itself is in `refining.jobs.judging`."""

from collections.abc import Sequence
from typing import Final

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext

from annotations.core.errors import ServiceError
from annotations.jobs.services.queue import LIVE, enqueue, key_of, started_with
from annotations.models import Job, Project, User
from annotations.scores.rules.judging import THRESHOLD
from annotations.scores.selectors import compared
from annotations.scores.services.scoring import ScoreRequest, score_request
from annotations.text.names import MAX_OFFSET
from models_runtime.backends.llm.prompts import LANGUAGES
from models_runtime.backends.llm.servers import Server
from models_runtime.models import Judge, Judging
from models_runtime.refining.events import JUDGING_STARTED
from models_runtime.refining.jobs.judging import ready_again
from models_runtime.refining.services.judging.rules import PROMPTS, checked_temperature, rules_named, unit_named
from models_runtime.runs.services.consent import check_consent
from models_runtime.runs.services.llm import default_language, prompt_labels, prompt_of

MOST_JUDGES: Final = 9


def start_judging(
    *,
    project: Project,
    gold: int,
    judges: Sequence[str],
    may_leave: bool,
    actor: User | None,
    key: str,
    author_id: int | None = None,
    author: str = "",
    split: str = "",
    language: str = "",
    threshold: float | None = None,
    most_notes: int | None = None,
    rules: str = "",
    unit: str = "",
    temperature: float | None = None,
    preset: str = "",
) -> Judging:
    """Start a judging of an author's annotations. `judges` are given as “server model” or “server/model”.

    `rules`, `unit` and `temperature` as for models_runtime.refining.services.judging.rules.

    Without a `language`, the prompt is in that of the project, or else in English. `preset` names a printed prompt for
    the rules, which decides on the language.

    A repeated call with the same `key` returns the same judging. Raises ServiceError, with the choices in its
    message, and `leaves` if notes would leave this machine without consent.
    """
    existing = started_with(Judging, project, "judge", key)
    if existing is not None:
        return existing
    wanted = _wanted(project, gold, author_id, author, split)
    chosen = _judges(judges)
    check_consent([server for server, _ in chosen], may_leave=may_leave)
    language = language or default_language(project) or "en"
    if language not in LANGUAGES:
        raise ServiceError(
            gettext("There is no prompt in “%(language)s”. Choose one of: %(choices)s.")
            % {"language": language, "choices": ", ".join(LANGUAGES)},
            code="language",
        )
    counted_by = rules_named(rules)
    labels = prompt_labels(project)
    judging = Judging(
        project=project,
        author=wanted.author,
        gold_version=wanted.reference.version,
        split=split,
        most_notes=_notes(most_notes),
        rules=counted_by.key,
        unit=unit_named(unit, counted_by),
        temperature=checked_temperature(temperature, counted_by),
        threshold=_threshold(THRESHOLD if threshold is None else threshold),
        **prompt_of(PROMPTS[counted_by.key], language, labels, preset),
        labels=[[label.code, label.placeholder] for label in labels],
        created_by=actor,
    )
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=project.pk)
        existing = started_with(Judging, project, "judge", key)
        if existing is not None:
            return existing
        judging.save(force_insert=True)
        for position, (server, model) in enumerate(chosen):
            Judge.objects.create(judging=judging, position=position, server=server.name, model=model)
        _enqueue(judging, key, actor)
        JUDGING_STARTED.record(
            actor=actor,
            project_id=project.pk,
            data={
                "judging": judging.pk,
                "gold": gold,
                "judges": [f"{server.name}/{model}" for server, model in chosen],
            },
        )
    return judging


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
        times = Job.objects.filter(
            project=held.project, kind="judge", key__startswith=f"judge-{held.pk}-again-"
        ).count()
        _enqueue(held, f"{held.pk}-again-{times + 1}", actor)


def _enqueue(judging: Judging, key: str, actor: User | None) -> None:
    judging.job = enqueue(
        kind="judge",
        project=judging.project,
        params={"judging_id": judging.pk, "author_id": judging.author_id},
        key=key_of("judge", key),
        actor=actor,
    )
    judging.save(update_fields=["job"])


def _wanted(project: Project, gold: int, author_id: int | None, author: str, split: str) -> ScoreRequest:
    wanted = score_request(project, version=gold, author_id=author_id, author=author, split=split)
    if wanted.reference.version is None:
        raise ServiceError(gettext("Judges need a frozen gold version. Enter its number."), code="version")
    if not compared(wanted.reference, wanted.author, split=split).notes:
        raise ServiceError(
            gettext(
                "%(name)s has no submitted annotations of notes in this gold version. Choose another author or version."
            )
            % {"name": wanted.author.name},
            code="notes",
        )
    return wanted


def _judges(specs: Sequence[str]) -> list[tuple[Server, str]]:
    """Return the servers and models from the settings in the given order, without duplicates."""
    listed: dict[str, Server] = settings.LLM_SERVERS
    if not listed:
        raise ServiceError(
            gettext(
                "No language model is configured. Ask the administrator to list servers in DEIDREVIEW_LLM_SERVERS."
            ),
            code="judges",
        )
    choices = {f"{name} {model}": (server, model) for name, server in listed.items() for model in server.models}
    found: dict[str, tuple[Server, str]] = {}
    for spec in specs:
        name = spec if spec in choices else spec.replace("/", " ", 1)
        if name not in choices:
            known = ", ".join(choice.replace(" ", "/", 1) for choice in choices)
            raise ServiceError(
                gettext("There is no judge “%(name)s”. Choose from: %(known)s.") % {"name": spec[:80], "known": known},
                code="judges",
            )
        found[name] = choices[name]
    if not 1 <= len(found) <= MOST_JUDGES:
        raise ServiceError(
            gettext("Choose 1 to %(most_judges)s judges, not %(count)s.")
            % {"most_judges": MOST_JUDGES, "count": len(found)},
            code="judges",
        )
    return list(found.values())


def _threshold(value: float) -> float:
    # This comparison also refuses NaN.
    if not 0.5 <= value < 1:
        raise ServiceError(
            gettext("The threshold can't be %(value)s. Enter a number from 0.5 to less than 1.")
            % {"value": f"{value:g}"},
            code="threshold",
        )
    return value


def _notes(count: int | None) -> int | None:
    if count is not None and not 1 <= count <= MAX_OFFSET:
        raise ServiceError(
            gettext("The number of notes can't be %(count)s. Enter a whole number of at least 1.") % {"count": count},
            code="notes",
        )
    return count
