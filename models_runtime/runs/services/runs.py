"""Model runs: asked for, counted, their failed notes tried again. The work itself is runs.jobs.running."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db import IntegrityError, connection, transaction
from django.db.models import Count
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.core.events import record
from annotations.core.names import good_name
from annotations.jobs.services.queue import enqueue
from annotations.models import AnnotationSet, Author, Document, Job, Project, Review, User, Verb
from annotations.review.selectors.handovers import Waiting, waiting_of
from models_runtime.models import Run, RunItem, TrainedModel
from models_runtime.runs.services.backends import Chosen, chosen, queue_of

SUBMITTED: Final = str(AnnotationSet.State.SUBMITTED)


def start_run(
    *,
    project: Project,
    backend: str,
    actor: User | None,
    name: str = "",
    params: dict[str, Any] | None = None,
    key: str,
    left: bool = False,
) -> Run:
    """A run over every note of the project, or with `left` over those that aren't gold: its author, its items and its
    job in one transaction.

    `backend` is a backend's key, `model:ID`, or the name of one of the project's models. The same `key` gives the same
    run: a double click is one. Raises ServiceError for an unknown backend, a model that can't run here, a name that is
    taken, or a project without notes.
    """
    there = Run.objects.filter(job__key=f"run-{key}").first()
    if there is not None:
        return there
    return started(
        project=project,
        choice=chosen(project, backend),
        actor=actor,
        name=name,
        params=params or {},
        key=key,
        left=left,
    )


def started(
    *,
    project: Project,
    choice: Chosen,
    actor: User | None,
    name: str,
    params: dict[str, Any],
    key: str,
    read_by: Sequence[int] = (),
    merged_from: Sequence[int] = (),
    left: bool = False,
) -> Run:
    """A run of a backend that was chosen, over every note that all the authors of `read_by` have read.

    With `left` only over notes that aren't gold. The same `key` gives the same run.
    """
    name = good_name(name)
    try:
        with transaction.atomic():
            Project.objects.select_for_update().get(pk=project.pk)
            there = Run.objects.filter(project=project, job__key=f"run-{key}").first()
            if there is not None:  # the other click was a moment faster
                return there
            author = Author.objects.create(
                project=project, kind=Author.Kind.RUN, name=name or _free_name(project, choice.stem),
                merged_from=list(merged_from) or None,
            )  # fmt: skip
            run = Run.objects.create(
                project=project,
                author=author,
                backend=choice.backend,
                model=choice.model,
                params=params,
                created_by=actor,
            )
            count = _make_items(run, read_by, left)
            if not count:
                raise ServiceError(_nothing(read_by, left), code="empty")
            run.job = enqueue(
                kind="run",
                project=project,
                params={"run_id": run.pk},
                key=f"run-{key}",
                actor=actor,
                total=count,
                queue=queue_of(run),
            )
            run.save(update_fields=["job"])
            record(
                verb=Verb.RUN_STARTED,
                actor=actor,
                project_id=project.pk,
                data={"author": author.pk, "backend": choice.backend, "notes": count},
            )
    except IntegrityError as error:
        raise ServiceError(
            _("a run of the name %(name)s exists already; choose another") % {"name": repr(name)}, code="exists"
        ) from error
    return run


def _free_name(project: Project, stem: str) -> str:
    taken = set(Author.objects.filter(project=project, kind=Author.Kind.RUN).values_list("name", flat=True))
    number = 1
    while f"{stem}-{number}" in taken:
        number += 1
    return f"{stem}-{number}"


def _nothing(read_by: Sequence[int], left: bool) -> str:
    if read_by:
        return "there is no note that all of these runs have read"
    if left:
        return "every note is gold already; there is nothing left to run on"
    return "this project has no notes to run on; import some first"


def _make_items(run: Run, read_by: Sequence[int], left: bool = False) -> int:
    """One row per note, by one statement: a project may have a million."""
    item, note, reading = (table._meta.db_table for table in (RunItem, Document, AnnotationSet))
    read = f" AND id IN (SELECT document_id FROM {reading} WHERE author_id = %s AND state = %s)"  # noqa: S608 - as below
    gold = Author.objects.filter(project=run.project_id, kind=Author.Kind.GOLD).values_list("pk", flat=True)
    without = list(gold) if left else []
    authors = [*read_by, *without]
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {item} (run_id, document_id, pass_number, state, attempt, error) "  # noqa: S608 - names of ours
            f"SELECT %s, id, 1, %s, 0, '' FROM {note} "
            f"WHERE project_id = %s{read * len(read_by)}{read.replace('IN', 'NOT IN') * len(without)} ORDER BY id",
            [run.pk, RunItem.State.PENDING, run.project_id, *(word for pk in authors for word in (pk, SUBMITTED))],
        )
        return int(cursor.rowcount)


def run_counts(run: Run) -> dict[str, int]:
    """Notes by state, from the rows: {"pending": …, "done": …, "failed": …}."""
    counted = dict(RunItem.objects.filter(run=run).values_list("state").annotate(count=Count("id")))
    return {str(state): counted.get(state, 0) for state in RunItem.State.values}


@dataclass(frozen=True)
class RunRow:
    """A run as the list shows it: notes by state, how many a person has reviewed, and which wait for a second one."""

    run: Run
    job: Job | None
    done: int
    failed: int
    total: int
    reviewed: int
    second: Waiting


def run_rows(runs: Iterable[Run], user: User) -> list[RunRow]:
    """The list's rows, as they are for this person, by grouped queries, however many runs."""
    listed = list(runs)
    counted: dict[int, dict[str, int]] = {run.pk: {} for run in listed}
    states = RunItem.objects.filter(run__in=listed).values_list("run", "state").annotate(count=Count("id")).order_by()
    for pk, state, count in states:
        counted[pk][state] = count
    closed = Review.objects.filter(author__in=[run.author_id for run in listed], closed_at__isnull=False)
    reviewed = dict(closed.values_list("author").annotate(count=Count("id")).order_by())
    between = waiting_of([run.author_id for run in listed], user)
    return [
        RunRow(
            run=run,
            job=run.job,
            done=counted[run.pk].get(RunItem.State.DONE, 0),
            failed=counted[run.pk].get(RunItem.State.FAILED, 0),
            total=sum(counted[run.pk].values()),
            reviewed=reviewed.get(run.author_id, 0),
            second=between.get(run.author_id, Waiting()),
        )
        for run in listed
    ]


def retry_failed(*, run: Run, actor: User | None) -> int:
    """Put the failed notes of an ended run back and work on them by a new job. Returns how many."""
    with transaction.atomic():
        held = Run.objects.select_for_update(of=("self",)).select_related("job", "model").get(pk=run.pk)
        if held.model is not None and held.model.state == TrainedModel.State.RETIRED:
            raise ServiceError(
                _("the model %(name)s was retired since; start a new run with another one") % {"name": held.model.name},
                code="model",
            )
        if held.job is not None and held.job.state in (Job.State.QUEUED, Job.State.RUNNING, Job.State.PAUSED):
            raise ServiceError(_("this run is still at work; wait for its end or cancel it"), code="live")
        unfinished = RunItem.objects.filter(run=run).exclude(state=RunItem.State.DONE)
        count = unfinished.update(state=RunItem.State.PENDING, error="")
        if not count:
            raise ServiceError(_("every note of this run is done; there is nothing to retry"), code="none")
        times = Job.objects.filter(project=run.project, kind="run", key__startswith=f"run-{run.pk}-again-").count()
        held.job = enqueue(
            kind="run",
            project=run.project,
            params={"run_id": run.pk},
            key=f"run-{run.pk}-again-{times + 1}",
            actor=actor,
            total=RunItem.objects.filter(run=run).count(),
            queue=queue_of(held),
        )
        held.save(update_fields=["job"])
    return count
