"""What an adjudicator's act means for a note as it stands: which decided places go, and which come."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.utils.translation import gettext as _

from annotations.adjudicate.selectors.desk import Desk, key_of, label_exists
from annotations.adjudicate.services.log import Effect, Row, rows_within
from annotations.core.errors import ServiceError
from annotations.domain.adjudication import Item, Standing, touched, with_own, without
from annotations.domain.disagreement import Version, majority_version, places
from annotations.domain.spans import Span as DomainSpan
from annotations.domain.spans import SpanError, checked, overlaps
from annotations.gold.services.provenance import decided
from annotations.models import AnnotationSet, Document, Project, Resolution, User

Choice = Resolution.Choice


class Act(StrEnum):
    """What an adjudicator can do."""

    MAJORITY = "majority"
    READER = "reader"
    NOTHING = "nothing"
    OWN = "own"
    DROP = "drop"
    KEEP = "keep"
    UNANIMOUS = "unanimous"
    UNDO = "undo"
    REDO = "redo"


@dataclass(frozen=True, slots=True)
class Seen:
    """A place as the page showed it."""

    start: int
    end: int
    key: str


@dataclass(frozen=True, slots=True)
class Request:
    """One act. `seen` are the places it is about; `reader` an annotator's number; `span` (start, end, label id) and
    `quote`, the marked text, belong to an own span; `span` alone to one that is dropped."""

    change_id: UUID
    act: Act
    seen: tuple[Seen, ...] = ()
    reader: int | None = None
    span: tuple[int, int, int] | None = None
    quote: str | None = None


def plan(document: Document, user: User, row: AnnotationSet, found: Desk, request: Request) -> Effect:
    """The effect of an act on the note as it stands; an empty one where it changes nothing. Raises ServiceError."""
    if request.act is Act.UNANIMOUS:
        wanted = [_shown(found, seen) for seen in request.seen]
        if any(item.standing is not Standing.AGREED for item in wanted):
            raise _moved()
        rows = [
            row_for(document.project, user, item, item.start, item.end, Choice.UNANIMOUS, said_by_all(item))
            for item in wanted
        ]
        return Effect([], rows)
    if request.act is Act.OWN:
        return _own(document, user, row, found, request)
    if len(request.seen) != 1:
        raise ServiceError(_("this act is about one place"), code="place")
    item = _shown(found, request.seen[0])
    choice, spans, reader = _choice(document, found, item, request)
    after = [
        row_for(
            document.project,
            user,
            item,
            item.start,
            item.end,
            choice,
            spans,
            reader=reader,
            kept=_provenance(row, item),
        )
    ]
    if not spans and not item.place.marked:
        after = []  # nobody marked anything here, and now nor does the adjudicator
    return _changed(row, item.start, item.end, after)


def _shown(found: Desk, seen: Seen) -> Item:
    """The place as it is now, provided that the page showed it so."""
    item = next((item for item in found.items if (item.start, item.end) == (seen.start, seen.end)), None)
    if item is None or key_of(found, item) != seen.key:
        raise _moved()
    return item


def _moved() -> ServiceError:
    return ServiceError(
        _(
            "another adjudicator or an annotator has changed this place meanwhile; "
            "yours was not saved, look at it again"
        ),
        code="moved",
    )


def said_by_all(item: Item) -> Version:
    """What all annotators of a place say."""
    return next(iter(item.place.versions.values()), ())


def _choice(document: Document, found: Desk, item: Item, request: Request) -> tuple[Choice, Version, int | None]:
    """The choice, the spans that then hold, and the annotator (author id) whose version it is."""
    if request.act is Act.MAJORITY:
        if item.place.agreed:
            return Choice.UNANIMOUS, said_by_all(item), None
        vote = majority_version(document.text, item.place)
        if vote is None:
            raise ServiceError(_("no version has a majority here; choose one, or mark your own"), code="tie")
        return Choice.MAJORITY, vote, None
    if request.act is Act.READER:
        reader = next((reader for reader in found.heard if reader.number == request.reader), None)
        if reader is None:
            raise ServiceError(
                _("there is no annotator %(reader)s of this note") % {"reader": request.reader}, code="reader"
            )
        return Choice.READER, item.place.versions[reader.author], int(reader.author)
    if request.act is Act.NOTHING:
        return Choice.NOTHING, (), None
    if not item.decisions:
        raise ServiceError(_("nothing is decided here yet"), code="place")
    if request.act is Act.DROP:
        assert request.span is not None  # the view saw to it
        start, end, label = request.span
        span = DomainSpan(start, end, str(label))
        if span not in item.outcome:
            raise _moved()
        left = without(item, span)
        return (Choice.OWN if left else Choice.NOTHING), left, None
    only = found.resolutions[item.decisions[0].start, item.decisions[0].end] if len(item.decisions) == 1 else None
    return (Choice(only.choice) if only else Choice.OWN), item.outcome, only.reader if only else None


def _own(document: Document, user: User, row: AnnotationSet, found: Desk, request: Request) -> Effect:
    """The adjudicator's own span, and what it does to the places that it overlaps."""
    span = _checked(document, request)
    parts = touched(found.items, span.start, span.end)
    shown = [_shown(found, seen) for seen in request.seen]
    if any(item not in shown for item in parts):
        raise _moved()
    start, end, spans = with_own(found.items, span)
    versions = {
        reader.author: [s for item in parts for s in item.place.versions.get(reader.author, ())]
        for reader in found.heard
    }
    whole = places(versions, besides=[(start, end)])[0]
    kept = {place: how for item in parts for place, how in _provenance(row, item).items()}
    item = Item(whole, (), Standing.OPEN)
    return _changed(row, start, end, [row_for(document.project, user, item, start, end, Choice.OWN, spans, kept=kept)])


def _checked(document: Document, request: Request) -> DomainSpan:
    """The marked stretch, trimmed; the label one of the project's own."""
    assert request.span is not None  # the view saw to it
    start, end, label = request.span
    if not label_exists(document.project_id, label):
        raise ServiceError(_("that label is not one of this project's; reload the page"), code="label")
    try:
        return checked(document.text, DomainSpan(start, end, str(label)), request.quote)
    except SpanError as error:
        raise ServiceError(_("not saved: %(error)s") % {"error": error}, code=error.code) from None


def _changed(row: AnnotationSet, start: int, end: int, after: list[Row]) -> Effect:
    """The effect on a stretch; none where the same was decided before, on the same readings."""
    before = rows_within(row, start, end)

    def essence(rows: list[Row]) -> list[tuple[Any, ...]]:
        return [(r["start"], r["end"], r["choice"], r["reader"], [s[:3] for s in r["spans"]], r["heard"]) for r in rows]

    if essence(before) == essence(after):
        return Effect([], [])
    return Effect(before, after)


def _provenance(row: AnnotationSet, item: Item) -> dict[tuple[int, int, str], Any]:
    """How the spans that stand in a place came about."""
    inside = row.spans.filter(start__gte=item.start, end__lte=item.end)
    return {
        (s, e, str(label)): how for s, e, label, how in inside.values_list("start", "end", "label_id", "provenance")
    }


def row_for(
    project: Project, user: User, item: Item, start: int, end: int, choice: Choice, spans: Version, *,
    reader: int | None = None, kept: dict[tuple[int, int, str], Any] | None = None, rule: bool = False,
) -> Row:  # fmt: skip
    """A decided place; a span that stood there before by the same choice keeps how it came about."""
    act = decided(None if rule else user, project)
    rows = []
    for span in spans:
        how: dict[str, Any] = {
            "choice": str(choice),
            "annotators": [int(author) for author, version in item.place.versions.items() if span in version],
            "changed": _changes(item, span),
        } | act
        if rule:
            how["rule"] = "unanimous"
        before = (kept or {}).get((span.start, span.end, span.label))
        if before and before.get("annotators") == how["annotators"] and before.get("choice") == how["choice"]:
            how = before
        rows.append([span.start, span.end, int(span.label), how])
    return {
        "start": start, "end": end, "choice": str(choice), "reader": reader, "heard": _heard(item),
        "by": user.pk, "at": act["at"], "spans": rows,
    }  # fmt: skip


def _heard(item: Item) -> dict[str, list[list[int]]]:
    """What each annotator says in a place, to be kept."""
    return {
        author: [[span.start, span.end, int(span.label)] for span in version]
        for author, version in item.place.versions.items()
    }


def _changes(item: Item, span: DomainSpan) -> list[str]:
    """What the adjudicator changed of what annotators marked: nothing, `bounds`, `label`, both, or `added`."""
    marked = item.place.marked
    if span in marked:
        return []
    near = [other for other in marked if overlaps(other, span)]
    if not near:
        return ["added"]
    if any((other.start, other.end) == (span.start, span.end) for other in near):
        return ["label"]
    return ["bounds"] if any(other.label == span.label for other in near) else ["bounds", "label"]
