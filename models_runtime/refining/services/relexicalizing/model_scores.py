"""Compare a model on the original and the released texts of a release: in this process, or as a job."""

import uuid
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.jobs.services.queue import enqueue, key_of
from annotations.models import Job, Project, Release, User
from models_runtime.core.registry import BACKENDS, KNOWN
from models_runtime.models import OF_MODEL, Run
from models_runtime.refining.jobs.relexicalizing import check_state, compare, store
from models_runtime.runs.services.backends import chosen, queue_of, ready_models

KIND = "surrogate_scores"


def score_surrogates(
    *, project: Project, number: int, backend: str, most_notes: int | None = None, actor: User | None
) -> dict[str, Any]:
    """Run a backend on original and released texts of a prepared release, and store both F1 in its figures.

    `backend`: a key such as `rules`, or a trained model's name. Exact spans with labels count, over all notes together
    and by label; `most_notes` limits them to the first ones. Raises ServiceError `release`, `state`, `backend`,
    `empty`, `changed` or `erased`.
    """
    release = (
        Release.objects.select_related("project__label_set", "policy").filter(project=project, number=number).first()
    )
    if release is None:
        raise ServiceError(_("There is no release %(number)d in this project.") % {"number": number}, code="release")
    found = compare(release, backend, most_notes=most_notes)
    with transaction.atomic():
        return store(found, actor)


def start_scores(*, release: Release, backend: str, actor: User, token: str = "") -> Job:
    """Start the job that compares a backend on both texts. The same `token` (one per form) gives the same job.

    Raises ServiceError `state` or `backend`, and those of models_runtime.runs.services.backends.chosen.
    """
    check_state(release)
    wanted = chosen(release.project, backend)
    queue = str(queue_of(Run(backend=wanted.backend, model=wanted.model)))
    key = key_of(KIND, f"{release.pk}-{actor.pk}-{token or uuid.uuid4().hex}")
    params = {"release_id": release.pk, "backend": backend}
    return enqueue(kind=KIND, project=release.project, params=params, key=key, actor=actor, queue=queue)


@dataclass(frozen=True)
class Choice:
    """A backend that can be compared: its value in a form, and its title."""

    value: str
    title: str


def choices(project: Project) -> list[Choice]:
    """The backends that read texts, and the project's trained models."""
    backends = [Choice(key, _(kind.title)) for key, kind in BACKENDS.items() if key != KNOWN]
    return [*backends, *(Choice(f"{OF_MODEL}{row.pk}", row.name) for row in ready_models(project))]
