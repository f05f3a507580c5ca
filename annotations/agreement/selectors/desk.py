"""One note as an adjudicator sees it: its annotators, their versions of each location, and the decisions."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NotRequired

from typing_extensions import TypedDict

from annotations.agreement.rules.disagreement import Consensus, Version, consensus, majority_version
from annotations.agreement.rules.units import AdjudicatedLocation, Item, LocationState, items
from annotations.agreement.selectors.disagreements import kinds_at, spans_of_sets, submitted_sets
from annotations.core.authors import annotator_names
from annotations.core.spans import Stored, pairs_of
from annotations.models import AnnotationSet, AnnotationSetState, Cause, Document, Label, Project, Resolution
from annotations.notes.selectors.comments import adjudicated_set
from annotations.text.attributes import Attributes, Value
from annotations.text.spans import LabeledBounds
from annotations.text.spans import Span as DomainSpan

Spans = dict[str, list[DomainSpan]]
"""The spans of annotators by author id."""

LEAST_ANNOTATORS = 2


@dataclass(frozen=True)
class NoteAnnotator:
    """An annotator of the note; `number` is their digit on the page. Only submitted sets count."""

    author: str
    number: int
    name: str
    submitted: bool


@dataclass(frozen=True)
class Desk:
    """The state of a note's adjudication. `versions` of items are by author id, in the order of the annotators."""

    document: Document
    annotators: list[NoteAnnotator]
    items: list[Item]
    resolutions: dict[tuple[int, int], Resolution]
    adjudicated: AnnotationSet | None

    @property
    def finished(self) -> bool:
        return self.adjudicated is not None and self.adjudicated.state == AnnotationSetState.SUBMITTED

    @property
    def submitted(self) -> list[NoteAnnotator]:
        return [annotator for annotator in self.annotators if annotator.submitted]

    @property
    def ready(self) -> bool:
        return len(self.submitted) >= LEAST_ANNOTATORS

    def open_items(self, *, unanimous_passes: bool) -> list[Item]:
        """The locations that an adjudicator still has to decide."""
        passing = (LocationState.DECIDED, LocationState.AGREED) if unanimous_passes else (LocationState.DECIDED,)
        return [item for item in self.items if item.state not in passing]


def desk(project: Project, document: Document) -> Desk:
    """The current state of the note, whose text must be loaded."""
    names, annotation_sets = submitted_in(project, [document.pk])[document.pk]
    own = adjudicated_set(document.pk)
    if own is not None:
        own.document = document
    resolutions = list(Resolution.objects.filter(document_id=document.pk).select_related("by"))
    return Desk(
        document=document,
        annotators=[
            NoteAnnotator(author, number, name, author in annotation_sets)
            for number, (author, name) in enumerate(names.items(), 1)
        ],
        items=items(annotation_sets, _decisions(own, resolutions)),
        resolutions={(each.start, each.end): each for each in resolutions},
        adjudicated=own,
    )


def submitted_in(project: Project, documents: Sequence[int]) -> dict[int, tuple[dict[str, str], Spans]]:
    """Of each of these notes, the annotators' names by author id, in order, and the spans of those who submitted it."""
    names = annotator_names(documents, hidden=project.anonymous_adjudication)
    sets = spans_of_sets(submitted_sets(documents))
    return {
        document: (own, {author: sets[document][author] for author in own if author in sets[document]})
        for document in documents
        for own in [names.get(document, {})]
    }


def _decisions(own: AnnotationSet | None, resolutions: Iterable[Resolution]) -> list[AdjudicatedLocation]:
    """The stored decisions. Labels that were merged since are replaced in the versions that a decision was based on."""
    if own is None:
        return []
    labels = Label.objects.filter(label_set__project_id=own.document.project_id, merged_into__isnull=False)
    merged = dict(labels.values_list("pk", "merged_into"))
    spans = list(own.spans.order_by("start", "end", "label_id").values_list("start", "end", "label_id", "attributes"))
    decisions = []
    index = 0
    for each in sorted(resolutions, key=lambda resolution: resolution.start):
        inside = []
        while index < len(spans) and spans[index][0] < each.end:
            start, end, label, attributes = spans[index]
            if start >= each.start:
                inside.append(DomainSpan(start, end, str(label), attributes=pairs_of(attributes)))
            index += 1
        decisions.append(AdjudicatedLocation(each.start, each.end, tuple(inside), _heard(each, merged)))
    return decisions


def _heard(resolution: Resolution, merged: Mapping[int, int | None]) -> dict[str, Version]:
    def heard(start: int, end: int, label: int, attributes: Stored | None = None) -> DomainSpan:
        return DomainSpan(start, end, str(merged.get(label, label)), attributes=pairs_of(attributes))

    return {author: tuple(sorted({heard(*row) for row in spans})) for author, spans in resolution.heard.items()}


def triples(spans: Iterable[DomainSpan]) -> list[LabeledBounds]:
    return [(span.start, span.end, int(span.label)) for span in spans]


def key_of(found: Desk, item: Item) -> str:
    """A hash of all that a page shows of a location, so that an act on a location that changed since is refused."""
    given = [item.location.versions.get(each.author, ()) for each in found.submitted]
    versions = [[each.number, _with_attributes(version)] for each, version in zip(found.submitted, given, strict=True)]
    decided = []
    for decision in item.decisions:
        resolution = found.resolutions[decision.start, decision.end]
        decided.append([decision.start, decision.end, resolution.choice, resolution.by_id])
        decided[-1].append(_with_attributes(decision.spans))
    content = json.dumps([item.start, item.end, item.state, versions, decided])
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def _with_attributes(spans: Iterable[DomainSpan]) -> list[tuple[int, int, int, Attributes]]:
    return [(span.start, span.end, int(span.label), span.attributes) for span in spans]


class ShownAttributes(TypedDict):
    """The attributes of the spans that have some, by “start-end-label id”.

    Of each annotator's version, of the majority's, and of the outcome.
    """

    versions: list[dict[str, dict[str, Value]]]
    majority: dict[str, dict[str, Value]]
    outcome: dict[str, dict[str, Value]]


class LocationSummary(TypedDict):
    """A location that somebody marked. `annotator`: the number of the annotator whose version was accepted."""

    start: int
    end: int
    key: str
    state: str
    consensus: str
    choice: str
    annotator: int | None
    by: str
    at: str
    causes: list[str]


class LocationItem(LocationSummary):
    """A location as the page gets it. `versions` are in the order of `annotators`; `outcome` is None while undecided.

    `same_spans`: the annotators differ only in attributes.
    """

    versions: list[list[LabeledBounds]]
    majority: list[LabeledBounds] | None
    outcome: list[LabeledBounds] | None
    attributes: NotRequired[ShownAttributes]
    same_spans: NotRequired[bool]


class DeskAnnotator(TypedDict):
    """An annotator who submitted the note. The number stays the same; the name may be hidden."""

    number: int
    name: str


class DeskSummary(TypedDict):
    """The adjudication of a note. `version`: of the adjudicated set. `ready`: two annotators have submitted the note.

    `passes`: unanimous locations need no decision. `open`: the number of locations without a decision. `missing`: the
    names of the annotators who haven't submitted the note.
    """

    version: int
    finished: bool
    ready: bool
    passes: bool
    open: int
    annotators: list[DeskAnnotator]
    missing: list[str]


class DeskState(DeskSummary):
    """The state of a note's adjudication as the page gets it."""

    locations: list[LocationItem]


def desk_state(project: Project, found: Desk) -> DeskState:
    """The note as JSON for its page. In an anonymous project it holds no annotator's name or id."""
    causes = list(Cause.objects.filter(document_id=found.document.pk))
    numbers = {annotator.author: annotator.number for annotator in found.annotators}
    return {
        "version": found.adjudicated.version if found.adjudicated else 0,
        "finished": found.finished,
        "ready": found.ready,
        "passes": project.unanimous_passes,
        "open": len(found.open_items(unanimous_passes=project.unanimous_passes)),
        "annotators": [{"number": each.number, "name": each.name} for each in found.submitted],
        "missing": [annotator.name for annotator in found.annotators if not annotator.submitted],
        "locations": [_location(found, item, numbers, causes) for item in found.items],
    }


def _location(found: Desk, item: Item, numbers: Mapping[str, int], causes: Iterable[Cause]) -> LocationItem:
    text, location = found.document.text, item.location
    majority = majority_version(text, location) if location.versions and not location.unanimous else None
    first = found.resolutions[item.decisions[0].start, item.decisions[0].end] if item.decisions else None
    versions = [location.versions.get(each.author, ()) for each in found.submitted]
    shown = LocationItem(
        start=item.start,
        end=item.end,
        key=key_of(found, item),
        state=item.state,
        # Only the adjudicator marked something here: there is nothing on which annotators could disagree.
        consensus=consensus(text, location) if location.marked else Consensus.ALL,
        versions=[triples(version) for version in versions],
        majority=None if majority is None else triples(majority),
        outcome=triples(item.outcome) if item.decisions else None,
        choice=first.choice if first else "",
        annotator=numbers.get(str(first.author)) if first and first.author else None,
        by=first.by.username if first else "",
        at=first.at.isoformat(timespec="seconds") if first else "",
        causes=kinds_at(causes, item.start, item.end),
    )
    attributes = ShownAttributes(
        versions=[_attributes_in(version) for version in versions],
        majority=_attributes_in(majority or ()),
        outcome=_attributes_in(item.outcome),
    )
    if attributes["outcome"] or any(attributes["versions"]):
        shown["attributes"] = attributes
    if location.agreed and not location.unanimous:
        shown["same_spans"] = True
    return shown


def _attributes_in(spans: Iterable[DomainSpan]) -> dict[str, dict[str, Value]]:
    return {f"{span.start}-{span.end}-{span.label}": dict(span.attributes) for span in spans if span.attributes}
