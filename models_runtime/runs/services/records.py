"""Let a run read the notes of records."""

import uuid
from collections.abc import Sequence
from typing import Final

from annotations.core.bulk import among
from annotations.core.errors import ServiceError
from annotations.jobs.waiting import end
from annotations.models import AnnotationSet, Author, AuthorKind, Project, User
from models_runtime.models import Run
from models_runtime.runs.services.backends import ChosenBackend, chosen
from models_runtime.runs.services.runs import started

AT_ONCE: Final = 10_000


def read_records(*, project: Project, name: str, notes: Sequence[int], actor: User | None) -> list[str]:
    """Let a run read those of these notes that none of its kind has read, and wait for the end.

    `name` is that of a run, whose backend and parameters a new run repeats, or of a backend or a trained model. Returns
    the names of all runs with that backend and these parameters. Raises ServiceError.
    """
    run = Run.objects.select_related("model").filter(author__project=project, author__name=name).first()
    choice = ChosenBackend(run.backend, run.model, name.rstrip("0123456789-")) if run else chosen(project, name)
    params = dict(run.params) if run else {}
    same = [one for one in Run.objects.filter(project=project, backend=choice.backend) if one.params == params]
    authors = [one.author_id for one in same]
    read = AnnotationSet.objects.filter(author__in=authors, document__in=among(notes)).values_list(
        "document", flat=True
    )
    left = sorted(set(notes) - set(read))
    for at in range(0, len(left), AT_ONCE):
        new = started(
            project=project, choice=choice, actor=actor, name="", params=params, key=uuid.uuid4().hex,
            only=left[at : at + AT_ONCE],
        )  # fmt: skip
        if new.job is None:
            raise ServiceError(f"The run “{new.author.name}” has no job.", code="run")
        end(new.job, f"The run “{new.author.name}”", code="run", tell=None)
        authors.append(new.author_id)
    rows = Author.objects.filter(pk__in=authors, kind=AuthorKind.RUN)
    return list(rows.order_by("pk").values_list("name", flat=True))
