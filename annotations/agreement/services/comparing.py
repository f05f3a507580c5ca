"""Keep the comparisons of a project's notes up to date: only notes whose annotations changed are compared again."""

import hashlib
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db import transaction
from django.db.models import OuterRef, Subquery

from annotations.agreement.rules.disagreement import (
    Location,
    disputed_labels,
    kinds_by_pair,
    locations,
    majority_version,
    marked_agreement,
    tokens_differ,
)
from annotations.core.locks import hold
from annotations.core.spans import pairs_of
from annotations.models import (
    Adjudication,
    AnnotationSet,
    AnnotationSetState,
    AuthorKind,
    Comparison,
    Difference,
    Document,
    Project,
    Span,
    Stale,
)
from annotations.text.spans import Span as DomainSpan

BATCH = 100
Scope = Difference.Scope


@dataclass(slots=True)
class _Note:
    """A note's submitted sets by author id; `counted` are the authors of the blind and unseeded sets."""

    text: str
    annotation_sets: dict[str, list[DomainSpan]] = field(default_factory=dict)
    counted: set[str] = field(default_factory=set)
    last_at: datetime | None = None


def waiting(project: Project) -> int:
    """The number of notes that are to be compared, for the first time or again."""
    return Stale.objects.filter(document_id__in=Document.objects.filter(project=project).values("pk")).count()


def bring_up_to_date(project: Project, *, seconds: float | None = None) -> int:
    """Compare the waiting notes, for about `seconds` (None: all). Returns the number of notes that still wait."""
    until = None if seconds is None else time.monotonic() + seconds
    while True:
        wanted = Stale.objects.filter(document_id__in=Document.objects.filter(project=project).values("pk"))
        ids = list(wanted.order_by("document_id").values_list("document_id", flat=True)[:BATCH])
        if not ids:
            return 0
        _compare(project, ids)
        if until is not None and time.monotonic() >= until:
            return waiting(project)


def _compare(project: Project, ids: Sequence[int]) -> None:
    """Compare some notes and store the results.

    The `Stale` rows are deleted first. A set that is submitted meanwhile waits for this transaction, and then adds its
    note's row again.
    """
    with transaction.atomic():
        hold(project.pk)
        Stale.objects.filter(document_id__in=ids).delete()
        notes = _read(ids)
        Difference.objects.filter(document_id__in=ids).delete()
        Comparison.objects.filter(document_id__in=ids).delete()
        comparisons, differences = [], []
        for pk, note in notes.items():
            found = locations(note.annotation_sets)
            comparisons.append(_comparison(project, pk, note, found))
            differences += _differences(project, pk, note, found)
        Comparison.objects.bulk_create(comparisons)
        known = Comparison.objects.filter(document=OuterRef("document"))
        Adjudication.objects.filter(document__in=ids, heard="").update(heard=Subquery(known.values("heard")[:1]))
        Difference.objects.bulk_create(differences, batch_size=500)


def _read(ids: Sequence[int]) -> dict[int, _Note]:
    sets = AnnotationSet.objects.filter(
        document_id__in=ids, author__kind=AuthorKind.ANNOTATOR, state=AnnotationSetState.SUBMITTED
    ).order_by("document_id", "author_id")
    notes: dict[int, _Note] = {}
    home: dict[int, tuple[int, str]] = {}
    for pk, document, author, blind, seeded, at in sets.values_list(
        "pk", "document_id", "author_id", "blind", "seeded", "submitted_at"
    ):
        note = notes.setdefault(document, _Note(""))
        home[pk] = document, str(author)
        note.annotation_sets[str(author)] = []
        if blind and not seeded:
            note.counted.add(str(author))
            note.last_at = max(filter(None, [note.last_at, at]), default=None)
    for pk, text in Document.objects.filter(pk__in=notes).values_list("pk", "text"):
        notes[pk].text = text
    spans = Span.objects.filter(annotation_set__in=list(home)).order_by("start", "end", "label_id")
    columns = ("annotation_set_id", "start", "end", "label_id", "attributes")
    for pk, start, end, label, attributes in spans.values_list(*columns):
        document, author_id = home[pk]
        span = DomainSpan(start, end, str(label), attributes=pairs_of(attributes))
        notes[document].annotation_sets[author_id].append(span)
    return notes


def _comparison(project: Project, pk: int, note: _Note, found: Sequence[Location[str]]) -> Comparison:
    disputed = sum(not location.unanimous for location in found)
    return Comparison(
        document_id=pk,
        project=project,
        annotators=len(note.annotation_sets),
        blind_annotators=len(note.counted),
        disputed=disputed,
        tied=sum(not each.unanimous and majority_version(note.text, each) is None for each in found),
        agreed=len(found) - disputed,
        agreement=marked_agreement(note.text, found),
        heard=annotation_sets_hash(note.annotation_sets),
        last_at=note.last_at,
    )


def annotation_sets_hash(annotation_sets: dict[str, list[DomainSpan]]) -> str:
    """A hash of all spans of a note's sets with their authors (author ids, code points, label ids, attributes)."""
    digest = hashlib.sha256()
    for author in sorted(annotation_sets):
        spans = ";".join(_hashed(span) for span in sorted(annotation_sets[author]))
        digest.update(f"{author}:{spans}\n".encode())
    return digest.hexdigest()


def _hashed(span: DomainSpan) -> str:
    """A span as it enters the hash; without attributes as before spans had any."""
    return f"{span.start},{span.end},{span.label}" + (f",{json.dumps(span.attributes)}" if span.attributes else "")


def _differences(project: Project, pk: int, note: _Note, found: Sequence[Location[str]]) -> list[Difference]:
    if note.counted == set(note.annotation_sets):
        return [_difference(project, pk, note, location, Scope.EITHER) for location in found if not location.unanimous]
    rows = [_difference(project, pk, note, location, Scope.ALL) for location in found if not location.unanimous]
    blind = {author: spans for author, spans in note.annotation_sets.items() if author in note.counted}
    rows += [
        _difference(project, pk, note, location, Scope.BLIND) for location in locations(blind) if not location.unanimous
    ]
    return rows


def _difference(project: Project, pk: int, note: _Note, location: Location[str], scope: Scope) -> Difference:
    pairs = kinds_by_pair(location)
    return Difference(
        project=project,
        document_id=pk,
        start=location.start,
        end=location.end,
        scope=scope,
        kinds=_listed(sorted(set(pairs.values()))),
        tokens=tokens_differ(note.text, location),
        labels=_listed(sorted(disputed_labels(location), key=int)),
        pairs=_listed([key for pair, kind in pairs.items() for key in _pair_keys(pair, kind)]),
    )


def _pair_keys(pair: tuple[str, str], kind: str) -> tuple[str, str]:
    low, high = sorted(pair, key=int)
    return f"{low}-{high}", f"{low}-{high}:{kind}"


def _listed(values: Sequence[str]) -> str:
    return f",{','.join(values)}," if values else ""
