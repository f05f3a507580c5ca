"""Plan an adjudicator's act: which decisions of the note it replaces, and by which. Apply it, and revert it.

A decided location is a row `{start, end, choice, author, heard, by, at, spans}` in the event log; a span is
`[start, end, label id, provenance, attributes]`, without attributes in older events. An act replaces some rows by
others; its opposite swaps them.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal
from uuid import UUID

from django.db.models import Q
from django.utils.translation import gettext as _

from annotations.agreement import events as agreement_events
from annotations.agreement.rules.disagreement import Location, Version, attributes_given, locations, majority_version
from annotations.agreement.rules.units import Item, LocationState, touched, with_own, without
from annotations.agreement.selectors.desk import Desk, key_of
from annotations.core.changes import backwards, to_revert
from annotations.core.services import ServiceError
from annotations.core.spans import check_room, checked_bounds, fitting_label, json_of, pairs_of, with_attribute
from annotations.gold.services.making import provenance_of
from annotations.models import AnnotationSet, Document, Event, Label, Project, Resolution, Span, User
from annotations.text.attributes import Attributes, Provenance, Value, voted
from annotations.text.spans import Span as DomainSpan
from annotations.text.spans import overlaps

Choice = Resolution.Choice


class Act(StrEnum):
    """The acts of an adjudicator; the values are stored in events."""

    MAJORITY = "majority"
    ANNOTATOR = "annotator"
    NOTHING = "nothing"
    OWN = "own"
    DROP = "drop"
    KEEP = "keep"
    ATTRIBUTE = "attribute"
    UNANIMOUS = "unanimous"
    UNDO = "undo"
    REDO = "redo"


ON_ONE_LOCATION = (Act.MAJORITY, Act.ANNOTATOR, Act.NOTHING, Act.KEEP, Act.DROP, Act.ATTRIBUTE)
WITH_A_SPAN = (Act.OWN, Act.DROP, Act.ATTRIBUTE)


@dataclass(frozen=True, slots=True)
class ShownLocation:
    """A location as the page showed it."""

    start: int
    end: int
    key: str


@dataclass(frozen=True, slots=True)
class Request:
    """The request for one act on the locations `seen`.

    `annotator` is the number of the annotator whose version is accepted. `span` (start, end, label id) is the
    adjudicator's own span, whose text is `quote`, or a decided span to remove or to change, without `quote`.
    `attribute` is the name of the attribute to set and its value; None removes it.
    """

    change_id: UUID
    act: Act
    seen: tuple[ShownLocation, ...] = ()
    annotator: int | None = None
    span: tuple[int, int, int] | None = None
    quote: str | None = None
    attribute: tuple[str, Value | None] | None = None


@dataclass(frozen=True, slots=True)
class Effect:
    """The decided locations that an act replaces, and those that it makes."""

    before: list[agreement_events.AdjudicatedLocation]
    after: list[agreement_events.AdjudicatedLocation]

    def opposite(self) -> "Effect":
        return Effect(self.after, self.before)


def plan(document: Document, user: User, row: AnnotationSet, found: Desk, request: Request) -> Effect:
    """The effect of an act on the note; empty where the act changes nothing. Raises ServiceError."""
    if request.act is Act.UNANIMOUS:
        wanted = [_shown(found, seen) for seen in request.seen]
        if any(item.state is not LocationState.AGREED for item in wanted):
            raise _moved()
        return Effect([], [row_for(document.project, user, item, Choice.UNANIMOUS) for item in wanted])
    if request.act is Act.OWN:
        return _own(document, user, row, found, request)
    if len(request.seen) != 1:
        raise ServiceError(_("Choose a disagreement first."), code="location")
    item = _shown(found, request.seen[0])
    choice, spans, author = _choice(document, found, item, request)
    if not spans and not item.location.marked:
        return _changed(row, item, [])  # Nobody marks anything here any more, so there is nothing to decide.
    kept = _provenance(row, item)
    return _changed(row, item, [row_for(document.project, user, item, choice, spans, author=author, kept=kept)])


def _shown(found: Desk, seen: ShownLocation) -> Item:
    """The current state of a location. Raises ServiceError (`moved`) unless the page showed it as it is."""
    item = next((item for item in found.items if (item.start, item.end) == (seen.start, seen.end)), None)
    if item is None or key_of(found, item) != seen.key:
        raise _moved()
    return item


def _moved() -> ServiceError:
    message = _(
        "Another adjudicator or an annotator has changed this location. "
        "Your decision was not saved. Check the location again."
    )
    return ServiceError(message, code="moved")


def _choice(document: Document, found: Desk, item: Item, request: Request) -> tuple[Choice, Version, int | None]:
    """The choice, the decided spans, and the author id of the annotator whose version was accepted, if any."""
    if request.act is Act.MAJORITY:
        if item.location.unanimous:
            return Choice.UNANIMOUS, item.location.first, None
        majority = majority_version(document.text, item.location)
        if majority is None:
            raise ServiceError(_("No version has a majority here. Choose a version or mark your own span."), code="tie")
        return Choice.MAJORITY, majority, None
    if request.act is Act.ANNOTATOR:
        annotator = next((each for each in found.submitted if each.number == request.annotator), None)
        if annotator is None:
            message = _("Annotator %(number)s has not submitted this note.")
            raise ServiceError(message % {"number": request.annotator}, code="annotator")
        return Choice.ANNOTATOR, item.location.versions[annotator.author], int(annotator.author)
    if request.act is Act.NOTHING:
        return Choice.NOTHING, (), None
    if not item.decisions:
        raise ServiceError(_("This disagreement is not decided yet."), code="location")
    if request.act is Act.DROP:
        left = without(item, _decided(item, request))
        return (Choice.OWN if left else Choice.NOTHING), left, None
    if request.act is Act.ATTRIBUTE:
        changed = _with_attribute(_decided(item, request), request)
        return Choice.OWN, tuple(changed if span == changed else span for span in item.outcome), None
    only = found.resolutions[item.decisions[0].start, item.decisions[0].end] if len(item.decisions) == 1 else None
    return (Choice(only.choice) if only else Choice.OWN), item.outcome, only.author if only else None


def _decided(item: Item, request: Request) -> DomainSpan:
    """The decided span that a request names, with its attributes. Raises ServiceError (`moved`) if there is none."""
    assert request.span is not None  # The view requires it.
    start, end, label = request.span
    span = next((each for each in item.outcome if each == DomainSpan(start, end, str(label))), None)
    if span is None:
        raise _moved()
    return span


def _with_attribute(span: DomainSpan, request: Request) -> DomainSpan:
    """The span with the requested attribute. Raises ServiceError `attribute` where its label doesn't have it."""
    assert request.attribute is not None  # The view requires it.
    return replace(
        span, attributes=pairs_of(with_attribute(dict(span.attributes), int(span.label), *request.attribute))
    )


def _own(document: Document, user: User, row: AnnotationSet, found: Desk, request: Request) -> Effect:
    """The effect of the adjudicator's own span, which joins the locations that it overlaps."""
    assert request.span is not None  # The view requires it.
    start, end, label = checked_bounds(document, request.span, request.quote)
    span = DomainSpan(start, end, str(label))
    parts = touched(found.items, span.start, span.end)
    shown = [_shown(found, seen) for seen in request.seen]
    if any(item not in shown for item in parts):
        raise _moved()
    start, end, spans = with_own(found.items, span)
    versions = {
        annotator.author: [s for item in parts for s in item.location.versions.get(annotator.author, ())]
        for annotator in found.submitted
    }
    whole = locations(versions, besides=[(start, end)])[0]
    kept = {span: provenance for item in parts for span, provenance in _provenance(row, item).items()}
    item = Item(whole, (), LocationState.OPEN)
    own = replace(span, attributes=_attributes_of_own(span, parts, whole))
    given = tuple(own if s == span else s for s in spans)
    after = row_for(document.project, user, item, Choice.OWN, given, kept=kept)
    return _changed(row, item, [after])


def _attributes_of_own(span: DomainSpan, parts: Sequence[Item], whole: Location) -> Attributes:
    """Those of the decided span that it relabels, if they fit the new label; else those that most annotators gave."""
    decided_here = (each for item in parts for each in item.outcome)
    before = next((each for each in decided_here if (each.start, each.end) == (span.start, span.end)), None)
    if before is not None and before.attributes:
        if before.label == span.label:
            return before.attributes
        return pairs_of(fitting_label(dict(before.attributes), int(span.label)))
    return voted(attributes_given(whole, span))


def _changed(row: AnnotationSet, item: Item, after: list[agreement_events.AdjudicatedLocation]) -> Effect:
    """The effect at a location; empty where the same was decided before on the same annotations."""
    inside = {"start__gte": item.start, "end__lte": item.end}
    resolutions = Resolution.objects.filter(document_id=row.document_id, **inside)
    before = rows_of(resolutions, list(row.spans.filter(**inside)))

    if _essence(before, "author", "heard") == _essence(after, "author", "heard"):
        return Effect([], [])
    return Effect(before, after)


def _provenance(row: AnnotationSet, item: Item) -> dict[tuple[int, int, str], Provenance | None]:
    """The provenance of the decided spans of a location."""
    inside = row.spans.filter(start__gte=item.start, end__lte=item.end)
    return {
        (s, e, str(label)): how for s, e, label, how in inside.values_list("start", "end", "label_id", "provenance")
    }


def row_for(
    project: Project, user: User, item: Item, choice: Choice, spans: Version | None = None, *,
    author: int | None = None, kept: Mapping[tuple[int, int, str], Provenance | None] | None = None,
) -> agreement_events.AdjudicatedLocation:  # fmt: skip
    """A decided location, by default with the spans on which all annotators agree.

    A span that the same choice of the same annotators decided before keeps its provenance.
    """
    rule = choice == Choice.RULE
    act = provenance_of(None if rule else user, project)
    rows: list[agreement_events.AdjudicatedSpan] = []
    for span in item.location.first if spans is None else spans:
        heard: Provenance = {
            "choice": str(choice),
            "annotators": [int(author) for author, version in item.location.versions.items() if span in version],
            "changed": _changes(item, span),
        }
        how = heard | act
        if rule:
            how["rule"] = "unanimous"
        before = (kept or {}).get((span.start, span.end, span.label))
        if before and before.get("annotators") == how["annotators"] and before.get("choice") == how["choice"]:
            how = before
        rows.append((span.start, span.end, int(span.label), how, json_of(span.attributes)))
    return {
        "start": item.start, "end": item.end, "choice": str(choice), "author": author, "heard": _heard(item),
        "by": user.pk, "at": act["at"], "spans": rows,
    }  # fmt: skip


def _heard(item: Item) -> dict[str, list[agreement_events.HeardSpan]]:
    """The version of each annotator at a location, to be stored with the decision."""
    return {
        author: [
            [span.start, span.end, int(span.label), *([dict(span.attributes)] if span.attributes else [])]
            for span in version
        ]
        for author, version in item.location.versions.items()
    }


def _changes(item: Item, span: DomainSpan) -> list[str]:
    """How a decided span differs from the annotators' spans.

    Not at all, by `attributes` that nobody gave, by `bounds`, `label` or both, or `added`.
    """
    marked = item.location.marked
    if span in marked:
        return [] if span.attributes in attributes_given(item.location, span) else ["attributes"]
    near = [other for other in marked if overlaps(other, span)]
    if not near:
        return ["added"]
    if any((other.start, other.end) == (span.start, span.end) for other in near):
        return ["label"]
    return ["bounds"] if any(other.label == span.label for other in near) else ["bounds", "label"]


# ── The effects in the event log ─────────────────────────────────────────────────────────────────────────────────────


def row_of(resolution: Resolution, spans: Iterable[Span]) -> agreement_events.AdjudicatedLocation:
    return {
        "start": resolution.start,
        "end": resolution.end,
        "choice": resolution.choice,
        "author": resolution.author,
        "heard": resolution.heard,
        "by": resolution.by_id,
        "at": resolution.at.isoformat(),
        "spans": [(span.start, span.end, span.label_id, span.provenance, span.attributes) for span in spans],
    }


def rows_of(resolutions: Iterable[Resolution], spans: Sequence[Span]) -> list[agreement_events.AdjudicatedLocation]:
    """Decided locations with those of the spans that are inside of them."""
    return [
        row_of(each, [span for span in spans if each.start <= span.start and span.end <= each.end])
        for each in resolutions
    ]


def apply_effect(row: AnnotationSet, effect: Effect) -> None:
    """Write the effect. Call this inside a transaction that has locked the adjudicated set's row."""
    resolutions, spans = Q(pk__in=[]), Q(pk__in=[])
    for old in effect.before:
        resolutions |= Q(start=old["start"], end=old["end"])
        spans |= Q(start__gte=old["start"], end__lte=old["end"])
    Resolution.objects.filter(resolutions, document_id=row.document_id).delete()
    row.spans.filter(spans).delete()
    Resolution.objects.bulk_create(resolution_of(row.document_id, new) for new in effect.after)
    Span.objects.bulk_create(
        Span(annotation_set=row, start=start, end=end, label_id=label, provenance=provenance, attributes=attributes)
        for new in effect.after
        for start, end, label, provenance, attributes in new["spans"]
    )
    check_room(row.pk, [(start, end) for new in effect.after for start, end, *_ in new["spans"]])


def resolution_of(document: int, new: agreement_events.AdjudicatedLocation) -> Resolution:
    """The decision of a row, not stored yet."""
    return Resolution(
        document_id=document,
        spans=[list(span[:3]) for span in new["spans"]],
        by_id=new["by"],
        at=datetime.fromisoformat(new["at"]),
        **{name: value for name, value in new.items() if name in ("start", "end", "choice", "author", "heard")},
    )


def effect_of(event: Event) -> Effect:
    """The effect that an event logs, with labels that were merged since replaced."""
    data: agreement_events.AdjudicationDecided = json.loads(json.dumps(event.data))
    rows = [*data["before"], *data["after"]]
    wanted = {span[2] for row in rows for span in row["spans"]}
    labels = Label.objects.filter(pk__in=wanted, merged_into__isnull=False)
    merged = {pk: into or pk for pk, into in labels.values_list("pk", "merged_into")}
    for row in rows:
        row["spans"] = [
            (start, end, merged.get(label, label), how, more[0] if more else None)
            for start, end, label, how, *more in row["spans"]
        ]
    return Effect(data["before"], data["after"])


def check_unchanged(row: AnnotationSet, effect: Effect) -> None:
    """Raise ServiceError (`moved`) unless the decisions are as in `effect.before`: somebody may have changed them."""
    changed = [*effect.before, *effect.after]
    low, high = min(each["start"] for each in changed), max(each["end"] for each in changed)
    here = Q(pk__in=[])
    for each in changed:
        here |= Q(start__lt=each["end"], end__gt=each["start"])
    resolutions = Resolution.objects.filter(here, document_id=row.document_id)
    now = rows_of(resolutions, list(row.spans.filter(start__lt=high, end__gt=low)))
    if _essence(now, "by") != _essence(effect.before, "by"):
        raise ServiceError(_("Someone has changed this decision since, so it can't be undone."), code="moved")


def _essence(
    rows: Iterable[agreement_events.AdjudicatedLocation], *more: Literal["author", "heard", "by"]
) -> list[tuple[Any, ...]]:
    """What is compared of decisions: without the provenance of their spans, and with these fields."""
    return sorted(
        (
            *(row["start"], row["end"], row["choice"], *(row[name] for name in more)),
            sorted((*span[:3], json.dumps(span[4], sort_keys=True)) for span in row["spans"]),
        )
        for row in rows
    )


def last_act(row: AnnotationSet, user: User, *, redo: bool) -> Event:
    """This person's last act that isn't undone; with `redo`, their last undo that isn't redone."""
    verbs = [agreement_events.ADJUDICATION_DECIDED, agreement_events.ADJUDICATION_UNDONE]
    events = Event.objects.filter(annotation_set_id=row.pk, actor=user, verb__in=verbs)
    event = to_revert(backwards(events), key="act", redo=redo)
    if event is None:
        raise ServiceError(_("Nothing to redo.") if redo else _("Nothing to undo."), code="nothing")
    return event
