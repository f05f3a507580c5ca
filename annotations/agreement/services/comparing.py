"""Keeping the comparisons of a project's notes up to date: only notes whose readings changed are compared again."""

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db import transaction
from django.db.models import OuterRef, Subquery

from annotations.core.erasures import hold
from annotations.domain.disagreement import (
    Place,
    disputed_labels,
    kinds_by_pair,
    marked_agreement,
    places,
    tokens_differ,
)
from annotations.domain.spans import Span as DomainSpan
from annotations.models import (
    Adjudication,
    AnnotationSet,
    Author,
    Comparison,
    Difference,
    Document,
    Project,
    Span,
    Stale,
)

BATCH = 100


Scope = Difference.Scope


@dataclass(slots=True)
class _Note:
    """A note's submitted readings by author id; `counted` are the blind and unseeded ones among them."""

    text: str
    readings: dict[str, list[DomainSpan]] = field(default_factory=dict)
    counted: set[str] = field(default_factory=set)
    last_at: datetime | None = None


def waiting(project: Project) -> int:
    """How many notes are to be compared (again)."""
    return Stale.objects.filter(document_id__in=Document.objects.filter(project=project).values("pk")).count()


def bring_up_to_date(project: Project, *, seconds: float | None = None) -> int:
    """Compare the notes that wait, for `seconds` at most (None: all of them). Returns how many still wait."""
    until = None if seconds is None else time.monotonic() + seconds
    while True:
        wanted = Stale.objects.filter(document_id__in=Document.objects.filter(project=project).values("pk"))
        ids = list(wanted.order_by("document_id").values_list("document_id", flat=True)[:BATCH])
        if not ids:
            return 0
        _compare(project, ids)
        if until is not None and time.monotonic() >= until:
            return waiting(project)


def compare_note(document: Document) -> Comparison | None:
    """The comparison of one note, up to date; None where nobody has submitted it."""
    if Stale.objects.filter(document_id=document.pk).exists():
        _compare(document.project, [document.pk])
    return Comparison.objects.filter(document_id=document.pk).first()


def _compare(project: Project, ids: Sequence[int]) -> None:
    """Their `Stale` rows go first: a reading that is submitted meanwhile waits for that, and brings its row back."""
    with transaction.atomic():
        hold(project.pk)
        Stale.objects.filter(document_id__in=ids).delete()
        notes = _read(ids)
        Difference.objects.filter(document_id__in=ids).delete()
        Comparison.objects.filter(document_id__in=ids).delete()
        comparisons, differences = [], []
        for pk, note in notes.items():
            found = places(note.readings)
            comparisons.append(_comparison(project, pk, note, found))
            differences += _differences(project, pk, note, found)
        Comparison.objects.bulk_create(comparisons)
        known = Comparison.objects.filter(document=OuterRef("document"))
        Adjudication.objects.filter(document__in=ids, heard="").update(heard=Subquery(known.values("heard")[:1]))
        Difference.objects.bulk_create(differences, batch_size=500)


def _read(ids: Sequence[int]) -> dict[int, _Note]:
    sets = AnnotationSet.objects.filter(
        document_id__in=ids, author__kind=Author.Kind.ANNOTATOR, state=AnnotationSet.State.SUBMITTED
    ).order_by("document_id", "author_id")
    notes: dict[int, _Note] = {}
    home: dict[int, tuple[int, str]] = {}
    for pk, document, author, blind, seeded, at in sets.values_list(
        "pk", "document_id", "author_id", "blind", "seeded", "submitted_at"
    ):
        note = notes.setdefault(document, _Note(""))
        home[pk] = document, str(author)
        note.readings[str(author)] = []
        if blind and not seeded:
            note.counted.add(str(author))
            note.last_at = max(filter(None, [note.last_at, at]), default=None)
    for pk, text in Document.objects.filter(pk__in=notes).values_list("pk", "text"):
        notes[pk].text = text
    spans = Span.objects.filter(annotation_set__in=list(home)).order_by("start", "end", "label_id")
    for pk, start, end, label in spans.values_list("annotation_set_id", "start", "end", "label_id"):
        document, reader = home[pk]
        notes[document].readings[reader].append(DomainSpan(start, end, str(label)))
    return notes


def _comparison(project: Project, pk: int, note: _Note, found: Sequence[Place[str]]) -> Comparison:
    disputed = sum(not place.agreed for place in found)
    return Comparison(
        document_id=pk,
        project=project,
        readers=len(note.readings),
        blind_readers=len(note.counted),
        disputed=disputed,
        agreed=len(found) - disputed,
        agreement=marked_agreement(note.text, found),
        heard=readings_hash(note.readings),
        last_at=note.last_at,
    )


def readings_hash(readings: dict[str, list[DomainSpan]]) -> str:
    """A hash of who says what of a note (author ids, code points, label ids)."""
    digest = hashlib.sha256()
    for author in sorted(readings):
        said = ";".join(f"{span.start},{span.end},{span.label}" for span in sorted(readings[author]))
        digest.update(f"{author}:{said}\n".encode())
    return digest.hexdigest()


def _differences(project: Project, pk: int, note: _Note, found: Sequence[Place[str]]) -> list[Difference]:
    if note.counted == set(note.readings):
        return [_difference(project, pk, note, place, Scope.EITHER) for place in found if not place.agreed]
    rows = [_difference(project, pk, note, place, Scope.ALL) for place in found if not place.agreed]
    blind = {author: spans for author, spans in note.readings.items() if author in note.counted}
    rows += [_difference(project, pk, note, place, Scope.BLIND) for place in places(blind) if not place.agreed]
    return rows


def _difference(project: Project, pk: int, note: _Note, place: Place[str], scope: Scope) -> Difference:
    pairs = kinds_by_pair(place)
    return Difference(
        project=project,
        document_id=pk,
        start=place.start,
        end=place.end,
        scope=scope,
        kinds=_listed(sorted(set(pairs.values()))),
        tokens=tokens_differ(note.text, place),
        labels=_listed(sorted(disputed_labels(place), key=int)),
        pairs=_listed([word for pair, kind in pairs.items() for word in _pair_words(pair, kind)]),
    )


def _pair_words(pair: tuple[str, str], kind: str) -> tuple[str, str]:
    low, high = sorted(pair, key=int)
    return f"{low}-{high}", f"{low}-{high}:{kind}"


def _listed(words: Sequence[str]) -> str:
    return f",{','.join(words)}," if words else ""
