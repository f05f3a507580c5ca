"""Start, count and retry model runs. The work itself is in runs.jobs.running."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, Final

from django.db import connection, transaction
from django.db.models import Count
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _

from annotations import models
from annotations.core.access import Access
from annotations.core.services import ServiceError, good_name
from annotations.jobs.services.queue import LIVE, continue_with_more, key_of, locked, start_for, started_with
from annotations.release.services.sources import specs_of
from annotations.review.selectors.reviewing import WaitingCounts, waiting_of
from models_runtime.models import Run, RunItem, RunItemState, TrainedModelState
from models_runtime.runs.events import RUN_RENAMED, RUN_STARTED, RunStarted
from models_runtime.runs.services.backends import NOTHING, ChosenBackend, ThresholdGoal, at_threshold, chosen, queue_of

SUBMITTED: Final = str(models.AnnotationSetState.SUBMITTED)
# How many failed notes a run's page and commands list with their reasons.
SHOWN_ERRORS: Final = 100


def start_run(
    *,
    project: models.Project,
    backend: str,
    actor: models.User | None,
    name: str = "",
    params: dict[str, Any] | None = None,
    key: str,
    left: bool = False,
    wanted: ThresholdGoal = NOTHING,
) -> Run:
    """Start a run over all notes of the project, or with `left` only over notes that are not gold.

    `wanted`: the masking threshold, if any.

    `backend` is a backend's key, `model:ID`, or the name of a trained model. A repeated call with the same `key`
    returns the same run, so that a double click starts only one. Raises ServiceError for an unknown backend, a model
    that can't run in this project, a name that exists, and a project without notes.
    """
    choice, threshold = at_threshold(chosen(project, backend), wanted)
    params = (params or {}) | threshold
    return started(project=project, choice=choice, actor=actor, name=name, params=params, key=key, left=left)


def started(
    *,
    project: models.Project,
    choice: ChosenBackend,
    actor: models.User | None,
    name: str,
    params: dict[str, Any],
    key: str,
    read_by: Sequence[int] = (),
    merged_from: Sequence[int] = (),
    left: bool = False,
    only: Collection[int] | None = None,
) -> Run:
    """Start a run of the chosen backend: make its author, items and job in one transaction.

    The run covers the notes that all authors in `read_by` have annotated; with `left`, only notes that are not gold;
    with `only`, those with these ids.
    A repeated call with the same `key` returns the same run.
    """
    name = good_name(name)
    exists = _("A run named “%(name)s” already exists. Choose another name.") % {"name": name}
    with locked(project, exists):
        if existing := started_with(Run, project, "run", key):
            return existing
        merged = list(merged_from) or None
        author = new_author(project, models.AuthorKind.RUN, name, choice.stem, merged_from=merged)
        run = Run.objects.create(
            project=project, author=author, backend=choice.backend, model=choice.model, params=params, created_by=actor
        )
        notes = _make_items(run, read_by, left, only)
        if not notes:
            raise ServiceError(_reason_for_no_notes(read_by, left), code="empty")
        _start(run, key, actor, notes)
        data: RunStarted = {"author": author.pk, "backend": choice.backend, "notes": notes}
        RUN_STARTED.record(actor=actor, project_id=project.pk, data=data)
    return run


def _start(run: Run, key: str, actor: models.User | None, notes: int) -> None:
    start_for(run, "run", key, actor, {"run_id": run.pk}, total=notes, queue=queue_of(run))


def new_author(project: models.Project, kind: str, name: str, stem: str, **more: Any) -> models.Author:
    """Make the author of a run or of a refined run; without a name, it gets the first free one with the stem."""
    name = name or free_name(project, kind, stem)
    return models.Author.objects.create(project=project, kind=kind, name=name, **more)


def free_name(project: models.Project, kind: str, stem: str) -> str:
    """Return the stem with the first number that gives a name no author of this kind has."""
    taken = set(models.Author.objects.filter(project=project, kind=kind).values_list("name", flat=True))
    return next(name for number in count(1) if (name := f"{stem}-{number}") not in taken)


def _reason_for_no_notes(read_by: Sequence[int], left: bool) -> str:
    if read_by:
        return _("No note was annotated by all of these runs. Choose other runs.")
    if left:
        return _("All notes are gold already, so there is nothing to run on.")
    return _("This project has no notes. Import notes first.")


def _make_items(run: Run, read_by: Sequence[int], left: bool = False, only: Collection[int] | None = None) -> int:
    """Make one item per note by one statement, because a project may have a million notes."""
    item, note, annotation_set = (table._meta.db_table for table in (RunItem, models.Document, models.AnnotationSet))
    of_author = f"(SELECT document_id FROM {annotation_set} WHERE author_id = %s AND state = %s)"  # noqa: S608 - as below
    chosen = f" AND id IN {of_author}" * len(read_by)
    gold = models.Author.objects.filter(project=run.project_id, kind=models.AuthorKind.GOLD).values_list(
        "pk", flat=True
    )
    without = list(gold) if left else []
    chosen += f" AND id NOT IN {of_author}" * len(without)
    authors = [*read_by, *without]
    if only is not None:
        chosen += f" AND id IN ({', '.join(str(int(pk)) for pk in only) or 'NULL'})"
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {item} (run_id, document_id, state, attempt, error) "  # noqa: S608 - names of ours
            f"SELECT %s, id, %s, 0, '' FROM {note} "
            f"WHERE project_id = %s{chosen} ORDER BY id",
            [run.pk, RunItemState.PENDING, run.project_id, *(word for pk in authors for word in (pk, SUBMITTED))],
        )
        return int(cursor.rowcount)


def run_of(access: Access, pk: int) -> Run:
    """A run of the project. Raises Http404."""
    rows = Run.objects.select_related("author", "job__created_by", "created_by", "project", "model", "calibration")
    return get_object_or_404(rows, project=access.project, pk=pk)


def run_counts(run: Run) -> dict[str, int]:
    """Count notes by state: {"pending": …, "done": …, "failed": …}."""
    counted = dict(RunItem.objects.filter(run=run).values_list("state").annotate(count=Count("*")))
    return {str(state): counted.get(state, 0) for state in RunItemState.values}


def run_errors(run: Run) -> list[dict[str, str]]:
    """The first SHOWN_ERRORS notes that failed, each as {"note": its name, "error": the reason}."""
    failed = RunItem.objects.filter(run=run, state=RunItemState.FAILED).order_by("id")
    return [
        {"note": name, "error": error} for name, error in failed.values_list("document__name", "error")[:SHOWN_ERRORS]
    ]


def failed_notes(result: Mapping[str, Any]) -> str:
    """One sentence about the failed notes of a command's result, with "failed" of `run_counts` and "errors"."""
    if not result["failed"]:
        return ""
    first = result["errors"][0]
    return f"Failed notes: {result['failed']}. The first is “{first['note']}”: {first['error']}"


@dataclass(frozen=True)
class RunRow:
    """A run in the list: notes by state, reviewed notes, and notes that wait for a second reviewer."""

    run: Run
    job: models.Job | None
    done: int
    failed: int
    total: int
    reviewed: int
    second: WaitingCounts


def run_rows(runs: Iterable[Run], user: models.User) -> list[RunRow]:
    """Return the rows of the list for this person. The number of queries does not depend on the number of runs."""
    listed = list(runs)
    counted: dict[int, dict[str, int]] = {run.pk: {} for run in listed}
    states = RunItem.objects.filter(run__in=listed).values_list("run", "state").annotate(count=Count("*")).order_by()
    for pk, state, number in states:
        counted[pk][state] = number
    finished = models.Review.objects.filter(author__in=[run.author_id for run in listed], finished_at__isnull=False)
    reviewed = dict(finished.values_list("author").annotate(count=Count("*")).order_by())
    between = waiting_of([run.author_id for run in listed], user)
    return [
        RunRow(
            run=run,
            job=run.job,
            done=counted[run.pk].get(RunItemState.DONE, 0),
            failed=counted[run.pk].get(RunItemState.FAILED, 0),
            total=sum(counted[run.pk].values()),
            reviewed=reviewed.get(run.author_id, 0),
            second=between.get(run.author_id, WaitingCounts()),
        )
        for run in listed
    ]


def retry_failed(*, run: Run, actor: models.User | None) -> int:
    """Start a new job for the unfinished notes of an ended run. Return their number."""
    with transaction.atomic():
        held = _held(run)
        if held.job is not None and held.job.state in LIVE:
            raise ServiceError(_("This run is still in progress. Wait until it ends, or cancel it."), code="live")
        unfinished = RunItem.objects.filter(run=run).exclude(state=RunItemState.DONE)
        left = unfinished.update(state=RunItemState.PENDING, error="")
        if not left:
            raise ServiceError(_("All notes of this run are done, so there is nothing to retry."), code="none")
        again = f"{run.pk}-again-"
        earlier = models.Job.objects.filter(project=run.project, kind="run", key__startswith=key_of("run", again))
        _start(held, f"{again}{earlier.count() + 1}", actor, RunItem.objects.filter(run=run).count())
    return left


def read_more(*, run: Run, notes: Collection[int]) -> int:
    """Add notes to a run, and start its job again for what is left of them. Return how many notes were added.

    A job that is at work takes the notes, too, unless it is about to end: call again while notes are left. Raises
    ServiceError `model` where the run's model was retired.
    """
    with transaction.atomic():
        held = _held(run)
        there = set(RunItem.objects.filter(run=run, document__in=notes).values_list("document_id", flat=True))
        new = [RunItem(run=run, document_id=pk) for pk in sorted(set(notes) - there)]
        RunItem.objects.bulk_create(new, batch_size=500)
        if held.job is None:
            _start(held, f"{run.pk}-more", None, len(new))
        elif RunItem.objects.filter(run=run, state=RunItemState.PENDING).exists():
            continue_with_more(held.job)
    return len(new)


def _held(run: Run) -> Run:
    """Lock the project and the run. Raises ServiceError `model` where the run's model was retired."""
    models.Project.objects.select_for_update(no_key=True).get(pk=run.project_id)
    held = Run.objects.select_for_update(of=("self",)).select_related("job", "model", "project").get(pk=run.pk)
    if held.model is not None and held.model.state == TrainedModelState.RETIRED:
        message = _("The model “%(name)s” was retired. Start a new run with another model.")
        raise ServiceError(message % {"name": held.model.name}, code="model")
    return held


# Rename runs. Files, commands and releases name a run's annotations `run:NAME`.


LONGEST_NAME = 80


def rename_run(*, run: Run, name: str, actor: models.User | None) -> Run:
    """Give a run another name. Ensembles keep the old name in the list of their members.

    Raises ServiceError `name`, `exists`, `live` while a job uses the run by its name, and `released` where a release,
    and so its certificate, names it.
    """
    name = good_name(name)
    if not name or len(name) > LONGEST_NAME:
        message = _("Enter a name of at most %(most)d characters for the run.")
        raise ServiceError(message % {"most": LONGEST_NAME}, code="name")
    exists = _("A run named “%(name)s” already exists. Choose another name.") % {"name": name}
    with locked(run.project, exists):  # Starting a job or a release locks the project too.
        author = models.Author.objects.select_for_update().get(pk=run.author_id)
        if author.name != name:
            _check_unused(author)
            author.name = name
            author.save(update_fields=["name"])
            RUN_RENAMED.record(actor=actor, project_id=run.project_id, data={"author": author.pk})
    run.author = author
    return run


def _check_unused(author: models.Author) -> None:
    """Raise ServiceError where a live job or a release names the run."""
    spec = f"run:{author.name}"
    for params in models.Job.objects.filter(project=author.project_id, state__in=LIVE).values_list("params", flat=True):
        if spec in specs_of(str(params.get("set", ""))):
            message = _("A job is using this run by its name. Wait until the job ends, or cancel it.")
            raise ServiceError(message, code="live")
    for number, named in models.Release.objects.filter(project=author.project_id).values_list("number", "set_spec"):
        if spec in specs_of(named):
            message = _("Release %(number)d names this run, also in its certificate. The run keeps its name.")
            raise ServiceError(message % {"number": number}, code="released")
