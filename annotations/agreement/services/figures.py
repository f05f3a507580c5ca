"""Compute and store the figures of agreement, under a key of their content: any change makes them out of date."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TypedDict, cast

from django.db import transaction
from django.utils.translation import gettext

from annotations.agreement.rules import (
    AgreementFigures,
    ComparedUnit,
    Granularity,
    NoteAnnotationSets,
    NoteFigures,
    figures,
    granularities,
)
from annotations.agreement.selectors.figures import (
    content_key,
    kept,
    setup_of,
    shared_annotation_sets,
    shared_notes,
    size_of,
)
from annotations.core.errors import ServiceError
from annotations.core.locks import erasures_of, unerased
from annotations.core.progress import Progress, silent
from annotations.models import Figures, Project

# Up to these sizes the figures take about a second. For larger projects a worker computes them.
AT_ONCE_ANNOTATION_SETS = 600
AT_ONCE_CHARACTERS = 1_000_000
TRIES = 3

Cell = int | float | str | None


class KeptFigures(AgreementFigures):
    """Figures with the key of the content from which they were computed, and the tokenizer's name or an empty one."""

    key: str
    tokenizer: str


class KeptTable(TypedDict):
    """The stored figures by note: the keys of NoteFigures once, and the values of each note."""

    columns: list[str]
    rows: list[list[Cell]]


@dataclass(frozen=True)
class NoteTable:
    """Figures by note, the lowest alpha first; each row has a value for each column."""

    columns: list[str]
    rows: list[list[Cell]]

    def named(self, rows: Iterable[list[Cell]]) -> list[NoteFigures]:
        """The rows as dictionaries by column."""
        # The columns are the keys of NoteFigures, see `_compute`.
        return [cast(NoteFigures, dict(zip(self.columns, row, strict=True))) for row in rows]


def kept_figures(project: Project, unit: ComparedUnit, tokenizer: str = "") -> KeptFigures | None:
    """The stored figures of the current annotations, without those by note; None if they aren't computed yet."""
    row = kept(project, _kind(unit, tokenizer), content_key(project, unit, tokenizer))
    if row is None:
        return None
    value: AgreementFigures = row.value
    return {**value, "key": row.key, "tokenizer": tokenizer}


def notes_of(project: Project, found: KeptFigures, granularity: Granularity) -> NoteTable:
    """The figures by note that belong to `found`; without rows where newer figures have replaced them."""
    row = kept(project, _kind_of_notes(ComparedUnit(found["unit"]), granularity, found["tokenizer"]), found["key"])
    return NoteTable(row.value["columns"], row.value["rows"]) if row else NoteTable([], [])


def takes_long(project: Project) -> bool:
    """Whether a worker should compute the figures."""
    size = size_of(project)
    return size.annotation_sets > AT_ONCE_ANNOTATION_SETS or size.characters > AT_ONCE_CHARACTERS


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
        raise ServiceError(
            gettext("Annotations changed while the figures were computed. Try again later."), code="changing"
        )
    return found


def _compute(project: Project, unit: ComparedUnit, tokenizer: str, progress: Progress) -> KeptFigures | None:
    """Compute and store the figures; None where annotations changed meanwhile, so that the figures mix two states."""
    begun = erasures_of(project.pk)
    key = content_key(project, unit, tokenizer)
    notes = shared_notes(project)
    value = figures(
        _reported(project, notes, tokenizer, progress),
        setup_of(project),
        unit,
        # Intervals are computed after the last note: reporting progress lets the job be canceled then too.
        between=lambda: progress(len(notes), len(notes)),
    )
    tables = {granularity: found.pop("per_note") for granularity, found in value["granularities"].items()}
    with transaction.atomic():
        unerased(project.pk, begun)
        if content_key(project, unit, tokenizer) != key:
            return None
        _keep(project, _kind(unit, tokenizer), key, value)
        for granularity, rows in tables.items():
            columns = list(rows[0]) if rows else []
            # To mypy, the values of a TypedDict are objects.
            cells = [cast(list[Cell], list(row.values())) for row in rows]
            table: KeptTable = {"columns": columns, "rows": cells}
            _keep(project, _kind_of_notes(unit, granularity, tokenizer), key, table)
    return {**value, "key": key, "tokenizer": tokenizer}


def _reported(project: Project, notes: list[int], tokenizer: str, progress: Progress) -> Iterator[NoteAnnotationSets]:
    done = 0
    progress(0, len(notes))
    for batch in shared_annotation_sets(project, notes, tokenizer):
        yield from batch
        done += len(batch)
        progress(min(done, len(notes)), len(notes))


def _keep(project: Project, kind: str, key: str, value: AgreementFigures | KeptTable) -> None:
    Figures.objects.filter(project=project, kind=kind).exclude(key=key).delete()
    Figures.objects.update_or_create(project=project, kind=kind, key=key, defaults={"value": value})


def _kind(unit: ComparedUnit, tokenizer: str) -> str:
    return ":".join(filter(None, ("agreement", unit, tokenizer)))


def _kind_of_notes(unit: ComparedUnit, granularity: Granularity | str, tokenizer: str) -> str:
    return ":".join(filter(None, ("notes", unit, granularity, tokenizer)))


def granularity_of(unit: ComparedUnit, asked: str, otherwise: Granularity = Granularity.SUBCATEGORY) -> Granularity:
    """The wanted granularity where the unit has it, else `otherwise`."""
    return next((granularity for granularity in granularities(unit) if granularity == asked), otherwise)
