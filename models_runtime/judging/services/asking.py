"""Judgings: asked for, and asked again. The work itself is models_runtime.judging.jobs."""

from collections.abc import Sequence
from typing import Final

from django.conf import settings
from django.db import transaction
from django.utils.translation import gettext

from annotations.core.errors import ServiceError
from annotations.core.events import record
from annotations.domain.numbers import MAX_OFFSET, whole
from annotations.domain.scoring.judging import THRESHOLD
from annotations.jobs.services.allowance import LIVE
from annotations.jobs.services.queue import enqueue
from annotations.models import Job, Project, User, Verb
from annotations.scores.selectors import compared
from annotations.scores.services.scoring import Asked, asked
from models_runtime.backends.llm.prompts import LANGUAGES, VERSION, system_prompt
from models_runtime.backends.llm.servers import Server
from models_runtime.judging.jobs import ready_again
from models_runtime.models import Judge, Judging
from models_runtime.runs.services.llm import refuse_unasked, words_of

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
    threshold: str = "",
    most_notes: str = "",
) -> Judging:
    """Have judges ("server model" or "server/model") asked about an author's readings. The same `key` is one judging.

    Raises ServiceError with the choices, or where text would leave this machine and nobody agreed.
    """
    there = Judging.objects.filter(job__key=f"judge-{key}").first()
    if there is not None:
        return there
    wish = _wish(project, gold, author_id, author, split)
    chosen = _judges(judges)
    refuse_unasked([server for server, _ in chosen], may_leave=may_leave)
    if (language or "en") not in LANGUAGES:
        raise ServiceError(
            gettext("there is no prompt in %(language)s; there are: %(choices)s")
            % {"language": repr(language), "choices": ", ".join(LANGUAGES)},
            code="language",
        )
    words = words_of(project)
    judging = Judging(
        project=project,
        author=wish.author,
        gold_version=wish.reference.version,
        split=split,
        most_notes=_number(most_notes),
        threshold=_threshold(threshold),
        language=language or "en",
        prompt=system_prompt("judge", language or "en", words),
        prompt_version=VERSION,
        labels=[[word.code, word.placeholder] for word in words],
        created_by=actor,
    )
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=project.pk)
        there = Judging.objects.filter(job__key=f"judge-{key}").first()
        if there is not None:
            return there
        judging.save(force_insert=True)
        for position, (server, model) in enumerate(chosen):
            Judge.objects.create(judging=judging, position=position, server=server.name, model=model)
        _enqueue(judging, key, actor)
        record(
            verb=Verb.JUDGING_STARTED,
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
    """Ask what no judge has answered, and what failed, by a new job. Raises ServiceError while one is at it."""
    with transaction.atomic():
        held = Judging.objects.select_for_update(of=("self",)).select_related("job", "project").get(pk=judging.pk)
        if held.job is not None and held.job.state in LIVE:
            raise ServiceError(gettext("the judges are still at work; wait for the end or cancel it"), code="live")
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
        key=f"judge-{key}",
        actor=actor,
    )
    judging.save(update_fields=["job"])


def _wish(project: Project, gold: int, author_id: int | None, author: str, split: str) -> Asked:
    wish = asked(project, version=gold, author_id=author_id, author=author, split=split)
    if wish.reference.version is None:
        raise ServiceError(gettext("judges go by a frozen gold version: name its number"), code="version")
    if not compared(wish.reference, wish.author, split=split).readings:
        raise ServiceError(
            gettext("%(name)s has submitted no reading of a note with this gold") % {"name": wish.author.name},
            code="notes",
        )
    return wish


def _judges(words: Sequence[str]) -> list[tuple[Server, str]]:
    """Servers and models of the allow-list, each once, in the order given."""
    listed: dict[str, Server] = settings.LLM_SERVERS
    if not listed:
        raise ServiceError(
            gettext("no language model is set up: the administrator lists servers in DEIDREVIEW_LLM_SERVERS"),
            code="judges",
        )
    choices = {f"{name} {model}": (server, model) for name, server in listed.items() for model in server.models}
    found: dict[str, tuple[Server, str]] = {}
    for word in words:
        name = word if word in choices else word.replace("/", " ", 1)
        if name not in choices:
            known = ", ".join(choice.replace(" ", "/", 1) for choice in choices)
            raise ServiceError(
                gettext("there is no judge %(word)s; there are: %(known)s") % {"word": repr(word[:80]), "known": known},
                code="judges",
            )
        found[name] = choices[name]
    if not 1 <= len(found) <= MOST_JUDGES:
        raise ServiceError(
            gettext("choose 1 to %(most_judges)s judges, not %(count)s")
            % {"most_judges": MOST_JUDGES, "count": len(found)},
            code="judges",
        )
    return list(found.values())


def _threshold(word: str) -> float:
    try:
        value = float(word) if word else THRESHOLD
    except ValueError:
        value = -1.0
    if not 0.5 <= value < 1:
        raise ServiceError(
            gettext("the threshold %(word)s is no number from 0.5 to below 1") % {"word": repr(word[:20])},
            code="threshold",
        )
    return value


def _number(word: str) -> int | None:
    if not word:
        return None
    found = whole(word, MAX_OFFSET)
    if not found:
        raise ServiceError(gettext("%(word)s is no number of notes") % {"word": repr(word[:20])}, code="notes")
    return found
