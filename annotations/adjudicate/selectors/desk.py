"""One note on the adjudicator's desk: who read it, what they say place by place, and what is decided."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

from annotations.core.naming import reader_names
from annotations.domain.adjudication import Decision, Item, Standing, items
from annotations.domain.disagreement import Consensus, Version, consensus, majority_version
from annotations.domain.spans import Span as DomainSpan
from annotations.models import (
    AnnotationSet,
    Cause,
    Document,
    Label,
    Project,
    Resolution,
    Span,
)
from annotations.notes.selectors.outcome import adjudicated_set

SpanTriple = tuple[int, int, int]
"""Start, end (code points, end-exclusive) and label id."""


LEAST_READERS = 2


@dataclass(frozen=True)
class Reader:
    """An annotator of the note; `number` is their digit on the page, `submitted` whether their reading counts."""

    author: str
    number: int
    name: str
    submitted: bool


@dataclass(frozen=True)
class Desk:
    """What an adjudicator has before them. Readings are by author id, in the order of the readers' numbers."""

    document: Document
    readers: list[Reader]
    items: list[Item]
    resolutions: dict[tuple[int, int], Resolution]
    adjudicated: AnnotationSet | None

    @property
    def closed(self) -> bool:
        return self.adjudicated is not None and self.adjudicated.state == AnnotationSet.State.SUBMITTED

    @property
    def heard(self) -> list[Reader]:
        return [reader for reader in self.readers if reader.submitted]

    @property
    def ready(self) -> bool:
        return len(self.heard) >= LEAST_READERS

    def open_items(self, *, unanimous_passes: bool) -> list[Item]:
        """What an adjudicator has still to decide."""
        passing = (Standing.DECIDED, Standing.AGREED) if unanimous_passes else (Standing.DECIDED,)
        return [item for item in self.items if item.standing not in passing]


def desk(project: Project, document: Document) -> Desk:
    """The note as it stands now; its text must be loaded."""
    names = reader_names([document.pk], hidden=project.anonymous_adjudication).get(document.pk, {})
    sets = dict(
        AnnotationSet.objects.filter(
            document_id=document.pk, author_id__in=[int(author) for author in names], state="submitted"
        ).values_list("author_id", "pk")
    )
    readings: dict[str, list[DomainSpan]] = {author: [] for author in names if int(author) in sets}
    authors = {pk: str(author) for author, pk in sets.items()}
    spans = Span.objects.filter(annotation_set_id__in=sets.values()).order_by("start", "end", "label_id")
    for pk, start, end, label in spans.values_list("annotation_set_id", "start", "end", "label_id"):
        readings[authors[pk]].append(DomainSpan(start, end, str(label)))
    own = adjudicated_set(document.pk)
    if own is not None:
        own.document = document
    resolutions = list(Resolution.objects.filter(document_id=document.pk).select_related("by"))
    return Desk(
        document=document,
        readers=[
            Reader(author, number, name, author in readings) for number, (author, name) in enumerate(names.items(), 1)
        ],
        items=items(readings, _decisions(own, resolutions)),
        resolutions={(each.start, each.end): each for each in resolutions},
        adjudicated=own,
    )


def _decisions(own: AnnotationSet | None, resolutions: Iterable[Resolution]) -> list[Decision]:
    """What is decided, with the labels of today: a merge renames them in what was heard and in the adjudicated set."""
    if own is None:
        return []
    labels = Label.objects.filter(label_set__project_id=own.document.project_id, merged_into__isnull=False)
    merged = dict(labels.values_list("pk", "merged_into"))
    spans = sorted(own.spans.values_list("start", "end", "label_id"))
    decisions = []
    at = 0
    for each in sorted(resolutions, key=lambda resolution: resolution.start):
        inside = []
        while at < len(spans) and spans[at][0] < each.end:
            if spans[at][0] >= each.start:
                inside.append(DomainSpan(spans[at][0], spans[at][1], str(spans[at][2])))
            at += 1
        decisions.append(Decision(each.start, each.end, tuple(inside), _heard(each, merged)))
    return decisions


def _heard(resolution: Resolution, merged: Mapping[int, int | None]) -> dict[str, Version]:
    return {
        author: tuple(sorted({DomainSpan(start, end, str(merged.get(label, label))) for start, end, label in spans}))
        for author, spans in resolution.heard.items()
    }


def triples(spans: Iterable[DomainSpan]) -> list[SpanTriple]:
    return [(span.start, span.end, int(span.label)) for span in spans]


def key_of(found: Desk, item: Item) -> str:
    """A name for all that a page shows of a place: an act on a place that has changed since is refused."""
    said = [[reader.number, triples(item.place.versions.get(reader.author, ()))] for reader in found.heard]
    done = []
    for decision in item.decisions:
        resolution = found.resolutions[decision.start, decision.end]
        done.append([decision.start, decision.end, resolution.choice, resolution.by_id, triples(decision.spans)])
    content = json.dumps([item.start, item.end, item.standing, said, done])
    return hashlib.sha256(content.encode()).hexdigest()[:16]


class PlaceItem(TypedDict):
    """A place as the page gets it. `versions` are in the order of `readers`; `outcome` is None while undecided."""

    start: int
    end: int
    key: str
    standing: str
    consensus: str
    versions: list[list[SpanTriple]]
    majority: list[SpanTriple] | None
    outcome: list[SpanTriple] | None
    choice: str
    reader: int | None
    by: str
    at: str
    cause: str


def desk_state(project: Project, found: Desk) -> dict[str, Any]:
    """The note as JSON for its page. In an anonymous project no annotator's name or id is in it."""
    causes = list(Cause.objects.filter(document_id=found.document.pk))
    numbers = {reader.author: reader.number for reader in found.readers}
    return {
        "version": found.adjudicated.version if found.adjudicated else 0,
        "closed": found.closed,
        "ready": found.ready,
        "passes": project.unanimous_passes,
        "open": len(found.open_items(unanimous_passes=project.unanimous_passes)),
        "readers": [{"number": reader.number, "name": reader.name} for reader in found.heard],
        "missing": [reader.name for reader in found.readers if not reader.submitted],
        "places": [_place(found, item, numbers, causes) for item in found.items],
    }


def _place(found: Desk, item: Item, numbers: Mapping[str, int], causes: Iterable[Cause]) -> PlaceItem:
    text, place = found.document.text, item.place
    vote = majority_version(text, place) if place.versions and not place.agreed else None
    first = found.resolutions[item.decisions[0].start, item.decisions[0].end] if item.decisions else None
    return PlaceItem(
        start=item.start,
        end=item.end,
        key=key_of(found, item),
        standing=item.standing,
        # Where no annotator marked anything, there is nothing to agree on: the adjudicator's own.
        consensus=consensus(text, place) if place.marked else Consensus.ALL,
        versions=[triples(place.versions.get(reader.author, ())) for reader in found.heard],
        majority=None if vote is None else triples(vote),
        outcome=triples(item.outcome) if item.decisions else None,
        choice=first.choice if first else "",
        reader=numbers.get(str(first.reader)) if first and first.reader else None,
        by=first.by.username if first else "",
        at=first.at.isoformat(timespec="seconds") if first else "",
        cause=next((c.kind for c in causes if c.start < item.end and item.start < c.end), ""),
    )


def label_exists(project_id: int, pk: int) -> bool:
    return Label.objects.filter(pk=pk, label_set__project_id=project_id, merged_into__isnull=True).exists()
