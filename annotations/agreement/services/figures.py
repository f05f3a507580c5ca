"""Compute and store the figures of agreement, under a key of their content: any change makes them out of date."""

from collections.abc import Iterable, Iterator
from typing import Any, TypedDict, cast

from django.db import transaction
from django.utils.translation import gettext

from annotations.agreement.rules.figures import figures
from annotations.agreement.rules.shown import AgreementFigures, AgreementOfNote, NoteFigures
from annotations.agreement.rules.units import ComparedUnit, Granularity, NoteAnnotationSets
from annotations.agreement.selectors import figures as figure_selectors
from annotations.core.errors import ServiceError
from annotations.core.locks import erasures_of, unerased
from annotations.core.progress import Progress, silent
from annotations.core.tokenizers import check_tokenizer
from annotations.jobs.runner import Claim
from annotations.jobs.services.queue import enqueue
from annotations.models import Document, Figures, Job, JobState, Project, User

# Up to these sizes the figures take about a second. For larger projects a worker computes them.
AT_ONCE_ANNOTATION_SETS = 600
AT_ONCE_CHARACTERS = 1_000_000
TRIES = 3
# From so many notes on, all names of the project are read, since a query takes a limited number of values.
MANY = 500

Cell = int | float | str | None


class KeptFigures(AgreementFigures):
    """Figures with the key of the content from which they were computed, and the tokenizer's name or an empty one."""

    key: str
    tokenizer: str


class KeptTable(TypedDict):
    """The stored figures by note, the lowest alpha first: the keys of NoteFigures once, and the values of each note."""

    columns: list[str]
    rows: list[list[Cell]]


def kept_figures(project: Project, unit: ComparedUnit, tokenizer: str = "") -> KeptFigures | None:
    """The stored figures of the current annotations, without those by note; None if they aren't computed yet."""
    key = figure_selectors.content_key(project, unit, tokenizer)
    row = Figures.objects.filter(project=project, kind=_kind("agreement", unit, tokenizer), key=key).first()
    if row is None:
        return None
    value: AgreementFigures = row.value
    return {**value, "key": key, "tokenizer": tokenizer}


def notes_of(project: Project, found: KeptFigures, granularity: Granularity) -> KeptTable:
    """The figures by note that belong to `found`; without rows where newer figures have replaced them."""
    kind = _kind("notes", found["unit"], granularity, found["tokenizer"])
    row = Figures.objects.filter(project=project, kind=kind, key=found["key"]).first()
    table: KeptTable = row.value if row else {"columns": [], "rows": []}
    return table


def named_notes(project: Project, table: KeptTable, rows: Iterable[list[Cell]]) -> list[AgreementOfNote]:
    """Some rows of the table with the names of their notes, without notes that were erased meanwhile."""
    # The columns are the keys of NoteFigures, see `_compute`.
    figures = [cast(NoteFigures, dict(zip(table["columns"], row, strict=True))) for row in rows]
    notes = Document.objects.filter(project=project)
    if len(figures) < MANY:
        notes = notes.filter(pk__in=[row["note"] for row in figures])
    names = dict(notes.values_list("pk", "name"))
    return [{**row, "name": names[row["note"]]} for row in figures if row["note"] in names]


def takes_long(project: Project) -> bool:
    """Whether a worker should compute the figures."""
    size = figure_selectors.size_of(project, AT_ONCE_ANNOTATION_SETS)
    return size is None or size > AT_ONCE_CHARACTERS


def figures_of(
    *, project: Project, unit: ComparedUnit, tokenizer: str = "", progress: Progress = silent
) -> KeptFigures:
    """The stored figures, or new ones, which are then stored.

    Only workers and commands may name a tokenizer. Raises ServiceError `tokenizer`, and `changing` while annotations
    keep changing.
    """
    found = kept_figures(project, unit, tokenizer)
    for _ in range(TRIES):
        if found is not None:
            return found
        found = _compute(project, unit, tokenizer, progress)
    if found is None:
        message = gettext("Annotations changed while the figures were computed. Try again later.")
        raise ServiceError(message, code="changing")
    return found


def _compute(project: Project, unit: ComparedUnit, tokenizer: str, progress: Progress) -> KeptFigures | None:
    """Compute and store the figures; None where annotations changed meanwhile, so that the figures mix two states."""
    begun = erasures_of(project.pk)
    key = figure_selectors.content_key(project, unit, tokenizer)
    notes = figure_selectors.shared_notes(project)
    value = figures(
        _reported(project, notes, tokenizer, progress),
        figure_selectors.setup_of(project),
        unit,
        # Intervals are computed after the last note: reporting progress lets the job be canceled then too.
        between=lambda: progress(len(notes), len(notes)),
    )
    tables = {granularity: found.pop("per_note") for granularity, found in value["granularities"].items()}
    with transaction.atomic():
        unerased(project.pk, begun)
        if figure_selectors.content_key(project, unit, tokenizer) != key:
            return None
        _keep(project, _kind("agreement", unit, tokenizer), key, value)
        for granularity, rows in tables.items():
            columns = list(rows[0]) if rows else []
            # To mypy, the values of a TypedDict are objects.
            cells = [cast(list[Cell], list(row.values())) for row in rows]
            table: KeptTable = {"columns": columns, "rows": cells}
            _keep(project, _kind("notes", unit, granularity, tokenizer), key, table)
    return {**value, "key": key, "tokenizer": tokenizer}


def _reported(project: Project, notes: list[int], tokenizer: str, progress: Progress) -> Iterator[NoteAnnotationSets]:
    done = 0
    progress(0, len(notes))
    for batch in figure_selectors.shared_annotation_sets(project, notes, tokenizer):
        yield from batch
        done += len(batch)
        progress(min(done, len(notes)), len(notes))


def _keep(project: Project, kind: str, key: str, value: AgreementFigures | KeptTable) -> None:
    Figures.objects.filter(project=project, kind=kind).exclude(key=key).delete()
    Figures.objects.update_or_create(project=project, kind=kind, key=key, defaults={"value": value})


def _kind(*parts: str) -> str:
    """The kind of stored figures; without a tokenizer it has no such part."""
    return ":".join(filter(None, parts))


def start_agreement(*, project: Project, unit: ComparedUnit, tokenizer: str = "", actor: User) -> Job:
    """The job that computes a unit's figures from the current annotations.

    A second call returns the same job, even a failed or canceled one, which people start again from its page. Only a
    job that is done and whose figures are gone is followed by a new job.
    """
    check_tokenizer(tokenizer)
    key = f"agreement-{project.pk}-{figure_selectors.content_key(project, unit, tokenizer)}"
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=project.pk)
        made = Job.objects.filter(project=project, kind="agreement", key__startswith=key)
        last = made.order_by("-id").first()
        if last is not None and (last.state != JobState.DONE or kept_figures(project, unit, tokenizer) is not None):
            return last
        params = {"unit": str(unit)} | ({"tokenizer": tokenizer} if tokenizer else {})
        return enqueue(kind="agreement", project=project, params=params, key=f"{key}-{made.count()}", actor=actor)


def run(claim: Claim) -> dict[str, Any]:
    """Compute and store the figures of a unit as a job. A repeated job finds the stored figures."""
    project = Project.objects.get(pk=claim.project_id)
    unit, tokenizer = ComparedUnit(claim.params["unit"]), claim.params.get("tokenizer", "")
    found = figures_of(project=project, unit=unit, tokenizer=tokenizer, progress=claim.progress)
    return {"unit": found["unit"], "notes": found["notes"]} | ({"tokenizer": tokenizer} if tokenizer else {})
