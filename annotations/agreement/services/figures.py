"""The figures of agreement, kept by what they were computed from: a changed reading asks for new ones at once."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.utils.translation import gettext

from annotations.agreement.selectors.figures import content_key, kept, setup_of, shared_notes, shared_readings, size_of
from annotations.core.erasures import erasures_of, unerased
from annotations.core.errors import ServiceError
from annotations.core.progress import Progress, silent
from annotations.domain.agreement import Granularity, NoteReadings, Unit, figures, granularities
from annotations.models import Figures, Project

# What takes about a second. Larger projects have a worker compute it.
AT_ONCE_READINGS = 600
AT_ONCE_CHARACTERS = 1_000_000
TRIES = 3

Json = dict[str, Any]


@dataclass(frozen=True)
class NoteTable:
    """Figures note by note, the lowest alpha first: a value for each column."""

    columns: list[str]
    rows: list[list[Any]]

    def named(self, rows: Iterable[list[Any]]) -> list[Json]:
        """Some of the rows, with the names of their columns."""
        return [dict(zip(self.columns, row, strict=True)) for row in rows]


def kept_figures(project: Project, unit: Unit) -> Json | None:
    """What was computed from the readings as they are now, without the figures by note; None if nothing was yet."""
    row = kept(project, _kind(unit), content_key(project, unit))
    return None if row is None else {**row.value, "key": row.key}


def notes_of(project: Project, found: Json, granularity: Granularity) -> NoteTable:
    """The figures by note that belong to `found`; without rows where newer ones have taken their place meanwhile."""
    row = kept(project, _kind_of_notes(Unit(found["unit"]), granularity), found["key"])
    return NoteTable(row.value["columns"], row.value["rows"]) if row else NoteTable([], [])


def takes_long(project: Project) -> bool:
    """Whether figures are for a worker to compute."""
    size = size_of(project)
    return size.readings > AT_ONCE_READINGS or size.characters > AT_ONCE_CHARACTERS


def figures_of(*, project: Project, unit: Unit, progress: Progress = silent) -> Json:
    """Kept figures, or new ones, which are kept. Raises ServiceError if readings change all the while."""
    found = kept_figures(project, unit)
    for _ in range(TRIES):
        if found is not None:
            return found
        found = _compute(project, unit, progress)
    if found is None:
        raise ServiceError(
            gettext("the readings change faster than they can be counted; try again later"), code="changing"
        )
    return found


def _compute(project: Project, unit: Unit, progress: Progress) -> Json | None:
    """Compute and keep; None when a reading changed meanwhile, so that nobody knows what the figures are of."""
    begun = erasures_of(project.pk)
    key = content_key(project, unit)
    notes = shared_notes(project)
    value = figures(
        _reported(project, notes, progress),
        setup_of(project),
        unit,
        # The intervals follow the last note; the work can be cancelled all the same.
        between=lambda: progress(len(notes), len(notes)),
    )
    tables = {granularity: found.pop("per_note") for granularity, found in value["granularities"].items()}
    with transaction.atomic():
        unerased(project.pk, begun)
        if content_key(project, unit) != key:
            return None
        _keep(project, _kind(unit), key, value)
        for granularity, rows in tables.items():
            columns = list(rows[0]) if rows else []
            table = {"columns": columns, "rows": [list(row.values()) for row in rows]}
            _keep(project, _kind_of_notes(unit, granularity), key, table)
    return {**value, "key": key}


def _reported(project: Project, notes: list[int], progress: Progress) -> Iterator[NoteReadings]:
    done = 0
    progress(0, len(notes))
    for batch in shared_readings(project, notes):
        yield from batch
        done += len(batch)
        progress(min(done, len(notes)), len(notes))


def _keep(project: Project, kind: str, key: str, value: Json) -> None:
    Figures.objects.filter(project=project, kind=kind).exclude(key=key).delete()
    Figures.objects.update_or_create(project=project, kind=kind, key=key, defaults={"value": value})


def _kind(unit: Unit) -> str:
    return f"agreement:{unit}"


def _kind_of_notes(unit: Unit, granularity: Granularity | str) -> str:
    return f"notes:{unit}:{granularity}"


def granularity_of(unit: Unit, asked: str, otherwise: Granularity = Granularity.SUBCATEGORY) -> Granularity:
    """The granularity asked for where the unit has it, else the label."""
    return next((granularity for granularity in granularities(unit) if granularity == asked), otherwise)
