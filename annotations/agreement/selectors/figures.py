"""Agreement of a project's annotators: which readings count, and what names all that goes into the figures."""

import hashlib
import json
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, QuerySet, Sum

from annotations.domain.agreement import VERSION, NoteReadings, Setup, Unit
from annotations.domain.spans import Span as DomainSpan
from annotations.models import Amendment, AnnotationSet, Author, Document, Figures, Label, Project, Span

BATCH = 250
State = AnnotationSet.State


@dataclass(frozen=True)
class LeftOut:
    """How many readings no figure is over, and why."""

    not_blind: int
    seeded: int
    drafts: int


def left_out(project: Project) -> LeftOut:
    """Of the project's annotators: drafts, and submitted readings that were seeded by a model or not blind."""
    sets = AnnotationSet.objects.filter(author__in=_annotators(project), state__in=[State.DRAFT, State.SUBMITTED])
    not_blind = seeded = drafts = 0
    rows = sets.order_by().values_list("state", "blind", "seeded").annotate(count=Count("id"))
    for state, was_blind, was_seeded, count in rows:
        if state == State.DRAFT:
            drafts += count
        elif was_seeded:
            seeded += count
        elif not was_blind:
            not_blind += count
    return LeftOut(not_blind, seeded, drafts)


def _annotators(project: Project) -> list[int]:
    """Ids rather than a join: the index of annotation sets begins with the author."""
    return list(Author.objects.filter(project=project, kind=Author.Kind.ANNOTATOR).values_list("pk", flat=True))


def counted_sets(project: Project) -> QuerySet[AnnotationSet]:
    """Submitted readings by annotators who saw nobody else's spans and no model's."""
    return AnnotationSet.objects.filter(
        author__in=_annotators(project), state=State.SUBMITTED, blind=True, seeded=False
    ).order_by()


def _shared(project: Project) -> QuerySet[AnnotationSet, int]:
    """The notes with at least two counted readings."""
    readers = counted_sets(project).values("document").annotate(readers=Count("id")).filter(readers__gte=2)
    return readers.values_list("document_id", flat=True)


def annotator_names(project: Project) -> dict[str, str]:
    """By author id (as figures name them)."""
    rows = Author.objects.filter(project=project, kind=Author.Kind.ANNOTATOR).values_list("pk", "name")
    return {str(pk): name for pk, name in rows}


def setup_of(project: Project) -> Setup:
    """Who is compared (author ids, in order) and by which labels (codes, in order)."""
    counted = counted_sets(project).filter(document__in=_shared(project))
    authors = sorted(counted.values_list("author_id", flat=True).distinct())
    labels = _labels(project)
    return Setup([str(pk) for pk in authors], [code for code, _ in labels], dict(labels))


def _labels(project: Project) -> list[tuple[str, str]]:
    """Codes and those of their categories. Spans never keep a label that was merged into another."""
    labels = Label.objects.filter(label_set__project=project)
    return list(labels.order_by("position", "id").values_list("code", "category__code"))


def round_beginnings(project: Project) -> list[datetime]:
    """When each round but the first began: with an amendment to the guidelines."""
    return sorted(Amendment.objects.filter(project=project).values_list("at", flat=True))


def content_key(project: Project, unit: Unit) -> str:
    """A hash of all that the figures of a unit are made of, without reading a span.

    A reading's version grows with every change to it, merged labels included; notes never change.
    """
    versions = array("q")
    for pair in counted_sets(project).order_by("pk").values_list("pk", "version").iterator(chunk_size=10_000):
        versions.extend(pair)
    rounds = [at.isoformat() for at in round_beginnings(project)]
    digest = hashlib.sha256(json.dumps([VERSION, str(unit), _labels(project), rounds]).encode())
    digest.update(versions.tobytes())
    return digest.hexdigest()


@dataclass(frozen=True)
class Size:
    """How much there is to compare; `characters` of the notes, each counted once."""

    notes: int
    readings: int
    characters: int


def size_of(project: Project) -> Size:
    notes = Document.objects.filter(project=project, pk__in=_shared(project))
    counted = notes.aggregate(notes=Count("pk"), characters=Sum("length"))
    readings = counted_sets(project).filter(document__in=_shared(project)).count()
    return Size(counted["notes"], readings, counted["characters"] or 0)


def shared_notes(project: Project) -> list[int]:
    """The ids of the notes that figures are over."""
    return sorted(_shared(project))


def shared_readings(project: Project, notes: list[int]) -> Iterator[list[NoteReadings]]:
    """The notes with their texts, rounds and counted readings (by author id), BATCH notes at a time.

    A note is of the round in which the last of its readings was handed in.
    """
    beginnings = round_beginnings(project)
    labels = dict(Label.objects.filter(label_set__project=project).values_list("pk", "code"))
    for at in range(0, len(notes), BATCH):
        yield _batch(project, notes[at : at + BATCH], beginnings, labels)


def _batch(
    project: Project, notes: list[int], beginnings: list[datetime], labels: dict[int, str]
) -> list[NoteReadings]:
    readings: dict[int, dict[str, list[DomainSpan]]] = {}
    rounds: dict[int, set[int]] = {}
    home: dict[int, list[DomainSpan]] = {}
    sets = counted_sets(project).filter(document__in=notes).order_by("document_id", "author_id")
    for pk, note, author, submitted in sets.values_list("pk", "document_id", "author_id", "submitted_at"):
        home[pk] = readings.setdefault(note, {})[str(author)] = []
        number = 1 + bisect_right(beginnings, submitted) if submitted else 1
        rounds.setdefault(note, set()).add(number)
    spans = Span.objects.filter(annotation_set__in=list(home)).order_by("start", "end")
    for pk, start, end, label in spans.values_list("annotation_set_id", "start", "end", "label_id"):
        home[pk].append(DomainSpan(start, end, labels[label]))
    texts = dict(Document.objects.filter(pk__in=list(readings)).values_list("pk", "text"))
    return [
        NoteReadings(texts[note], by_author, note, max(rounds[note]), len(rounds[note]) > 1)
        for note, by_author in readings.items()
        if note in texts
    ]


def kept(project: Project, kind: str, key: str) -> Figures | None:
    """Figures that were computed before from the same content."""
    return Figures.objects.filter(project=project, kind=kind, key=key).first()
