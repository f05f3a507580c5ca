"""The index over the texts of notes (NoteIndex). The relay fills it, erasures reach it, and searches read it."""

import time
from collections.abc import Collection, Sequence
from contextlib import suppress

from django.db import transaction
from django.db.models import BigIntegerField, Exists, OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce

from annotations.core.services import ErasedMeanwhile, change_labels, erasures_of, unerased
from annotations.models import Document, Import, ImportState, NoteIndex, Project
from annotations.text.search import signatures

# How long one call works (seconds).
SECONDS = 1.0


def index_notes() -> None:
    """Index notes for a moment. The relay calls this function every second."""
    until = time.monotonic() + SECONDS
    for project, last in _waiting():
        indexed: int | None = last
        while indexed is not None and time.monotonic() < until:
            indexed = _index_after(project, indexed)


def _waiting() -> QuerySet[Project, tuple[int, int]]:
    """Projects with enough notes to index and no import under way, and the last note that is indexed there."""
    last = NoteIndex.objects.filter(project=OuterRef("pk")).order_by("-last").values("last")[:1]
    notes = Document.objects.filter(project=OuterRef("pk"), pk__gt=OuterRef("indexed")).order_by("pk")
    projects = Project.objects.annotate(indexed=Coalesce(Subquery(last), Value(0), output_field=BigIntegerField()))
    enough = Exists(notes[NoteIndex.SIZE - 1 : NoteIndex.SIZE])
    projects = projects.filter(enough).exclude(imports__state=ImportState.RUNNING)
    return projects.order_by("pk").values_list("pk", "indexed")


def _index_after(project: int, last: int) -> int | None:
    """Index the next notes of a project. Return the last one, or None if they must wait."""
    erasures = erasures_of(project)
    with transaction.atomic():
        # Transactions that add notes have this lock, so no note with a lower id appears later.
        free = change_labels(project, wait=False)
        notes = Document.objects.filter(project=project, pk__gt=last).order_by("pk").values_list("pk", flat=True)
        ids = list(notes[: NoteIndex.SIZE]) if free else []
    # A canceled import removes its notes again. One may have begun meanwhile.
    importing = Import.objects.filter(project=project, state=ImportState.RUNNING)
    if len(ids) < NoteIndex.SIZE or importing.exists():
        return None
    row = _filled(NoteIndex(project_id=project, last=ids[-1]), ids)
    with suppress(ErasedMeanwhile), transaction.atomic():
        unerased(project, erasures)
        NoteIndex.objects.bulk_create([row], ignore_conflicts=True)
        return row.last
    return None


def _filled(row: NoteIndex, notes: Collection[int]) -> NoteIndex:
    texts = dict(Document.objects.filter(pk__in=notes).order_by("pk").values_list("pk", "text"))
    row.notes = list(texts)
    row.shift, row.bits = signatures(list(texts.values()), NoteIndex.SIZE)
    return row


def forget_notes(*, project: Project, notes: Sequence[int], **_erased: object) -> None:
    """Index again what was indexed together with these notes, without them."""
    erased = set(notes)
    for row in NoteIndex.objects.filter(project=project, last__gte=min(erased, default=0)).defer("bits"):
        if not erased.isdisjoint(row.notes):
            _filled(row, set(row.notes) - erased).save()
