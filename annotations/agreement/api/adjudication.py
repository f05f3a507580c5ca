"""Routes of adjudication: the notes to adjudicate, one note, its outcome for annotators, and majority votes."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Self, cast
from uuid import UUID, uuid4

from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from ninja import Field, ModelSchema, Query, Schema

from annotations.agreement.api.disagreements import compare
from annotations.agreement.rules.units import SpanOutcome
from annotations.agreement.selectors import adjudications
from annotations.agreement.selectors import desk as desk_selectors
from annotations.agreement.services import deciding
from annotations.agreement.services.majority import (
    COUNTS,
    last_job,
    recent_votes,
    start_majority,
    start_undo,
)
from annotations.agreement.services.plan import WITH_A_SPAN, Act, ShownLocation
from annotations.agreement.services.plan import Request as Wanted
from annotations.core.access import Access, Can
from annotations.core.api.paging import Page, PageAnswer, Paging, paged
from annotations.core.api.routes import ApiRequest, Body, Note, ProjectRouter, RefusedDecision, invalid, named
from annotations.core.batches import MOST_CHANGES
from annotations.core.services import NOTE_READ
from annotations.jobs.api import JobItem
from annotations.models import Document, Job, MajorityAct
from annotations.notes.api import codes_of, label_coded
from annotations.text.names import MAX_ID, MAX_OFFSET
from annotations.text.spans import LabeledBounds, Span

router = ProjectRouter(tags=["Adjudication"])
LIST: Final = "/projects/{slug:slug}/adjudications"
NOTE: Final = "/projects/{slug:slug}/notes/{int:note}"
PATH: Final = f"{NOTE}/adjudication"
VOTES: Final = "/projects/{slug:slug}/majority-votes"
VOTE: Final = f"{VOTES}/{{uuid:vote}}"
MOST_LOCATIONS: Final = 20_000
_FIELDS: Final[Mapping[str, str]] = {
    "label": "span.label",
    "quote": "span.quote",
    **dict.fromkeys(("outside", "empty", "white"), "span.start"),
    "annotator": "annotator",
    "attribute": "attribute",
    "location": "seen",
}


class DecidedSpan(Schema):
    """A span: offsets in code points, end-exclusive; the label's code; attributes by name."""

    start: int
    end: int
    label: str
    attributes: dict[str, str | bool] = {}


class AdjudicatedLocation(desk_selectors.LocationSummary):
    """A location that somebody marked. Send `start`, `end` and `key` to decide it as it is now.

    `state`: open, agreed (all annotators agree, no decision yet), decided or changed since. `versions` are in the
    order of `annotators`; `majority` and `outcome` are null without one. `annotator`: whose version was accepted.
    """

    versions: list[list[DecidedSpan]]
    majority: list[DecidedSpan] | None
    outcome: list[DecidedSpan] | None


class Desk(desk_selectors.DeskSummary):
    """The adjudication of a note. `open`: locations without a decision. `ready`: two annotators have submitted.

    `passes`: locations on which all annotators agree need no decision. `missing` names annotators who have not
    submitted the note.
    """

    locations: list[AdjudicatedLocation]


class SeenLocation(Body):
    """A location as it was read."""

    start: int = Field(ge=0, le=MAX_OFFSET)
    end: int = Field(ge=0, le=MAX_OFFSET)
    key: str = Field(max_length=16)


class NamedSpan(Body):
    """A span: offsets in code points, end-exclusive, and the label's code. `quote` is the text of one's own span."""

    start: int = Field(ge=0, le=MAX_OFFSET)
    end: int = Field(ge=0, le=MAX_OFFSET)
    label: str = Field(max_length=60)
    quote: str | None = None


class NewAttribute(Body):
    """An attribute and its value: a choice, true, or null to remove it."""

    name: str = Field(max_length=60)
    value: str | bool | None


class NewDecision(Body):
    """One act at the locations `seen`.

    majority, annotator (with the number), nothing, keep: decide one location. own: one's own `span` with its quote, at
    the locations that it overlaps. drop, attribute: change a decided `span`. unanimous: accept all locations `seen`
    on which the annotators agree. undo, redo: one's own acts.
    """

    act: Act
    seen: list[SeenLocation] = Field([], max_length=MOST_LOCATIONS)
    annotator: int | None = Field(None, ge=0, le=MAX_OFFSET)
    span: NamedSpan | None = None
    attribute: NewAttribute | None = None


class NewDecisions(Body):
    """Acts in their order."""

    decisions: list[NewDecision] = Field(min_length=1, max_length=MOST_CHANGES)


class DecidedDesk(Desk):
    """The adjudication afterwards, and the acts that were refused; the others are made."""

    refused: list[RefusedDecision]


class OutcomeLine(Schema):
    """One's own span, and what became of it: kept, changed, left_out, or missed (a span that one did not mark)."""

    fate: str
    own: DecidedSpan | None
    now: DecidedSpan | None


class AdjudicationOutcome(Schema):
    items: list[OutcomeLine]


@router.get(PATH, Can.MAKE_GOLD, response=Desk)
def read_adjudication(access: Access, note: Note) -> Desk:
    """Read the adjudication of a note. The audit log records it."""
    NOTE_READ.record(actor=access.user, note=note)
    return _state(access, note)


@router.post(f"{PATH}/decide", Can.MAKE_GOLD, response=Desk)
def decide_locations(access: Access, note: Note, body: NewDecision) -> Desk:
    """Decide a location, or undo or redo one's own last act. A location that changed meanwhile is a conflict."""
    wanted = _wanted(access, body)
    with named(_FIELDS):
        state = deciding.decide(project=access.project, document=note, user=access.user, request=wanted)
    return _desk(access, state)


@router.post(f"{PATH}/decide/batch", Can.MAKE_GOLD, response=DecidedDesk)
def decide_many_locations(access: Access, note: Note, body: NewDecisions) -> DecidedDesk:
    """Make many acts in one transaction. Each can be refused on its own."""
    requests = {place: _wanted(access, each) for place, each in enumerate(body.decisions)}
    done = deciding.decide_many(project=access.project, document=note, user=access.user, requests=requests)
    return {**_desk(access, done.state), "refused": RefusedDecision.all(done.errors)}


@router.post(f"{PATH}/finish", Can.MAKE_GOLD, response=Desk)
def finish_adjudicating(access: Access, note: Note) -> Desk:
    """Finish the adjudication, so that its outcome can become gold and annotators see it."""
    deciding.finish_adjudication(project=access.project, document=note, user=access.user)
    return _state(access, note)


@router.post(f"{PATH}/reopen", Can.MAKE_GOLD, response=Desk)
def reopen_adjudication(access: Access, note: Note) -> Desk:
    """Reopen a finished adjudication. Its decisions stay."""
    deciding.reopen(project=access.project, document=note, user=access.user)
    return _state(access, note)


@router.get(f"{NOTE}/outcome", Can.ANNOTATE, response=AdjudicationOutcome)
def read_outcome(access: Access, note: Note) -> AdjudicationOutcome:
    """Compare one's own submitted spans with the adjudicated ones. Later annotations of this note are not blind.

    404 until the adjudication is finished, 403 where the project does not show outcomes.
    """
    _set, lines = deciding.open_outcome(access=access, note=note)
    codes = codes_of(access.project.pk)
    return AdjudicationOutcome(items=[_line(line, codes) for line in lines])


def _state(access: Access, document: Document) -> Desk:
    return _desk(access, desk_selectors.desk_state(access.project, desk_selectors.desk(access.project, document)))


def _desk(access: Access, state: desk_selectors.DeskState) -> Desk:
    codes = codes_of(access.project.pk)
    return {**state, "locations": [_location(each, codes) for each in state["locations"]]}


def _location(item: desk_selectors.LocationItem, codes: Mapping[int, str]) -> AdjudicatedLocation:
    given = item.get("attributes") or {"versions": [{} for _version in item["versions"]], "majority": {}, "outcome": {}}

    def spans(triples: list[LabeledBounds], attributes: Mapping[str, Any]) -> list[DecidedSpan]:
        return [_span(triple, codes, attributes) for triple in triples]

    found = {
        "versions": [spans(*each) for each in zip(item["versions"], given["versions"], strict=True)],
        "majority": None if item["majority"] is None else spans(item["majority"], given["majority"]),
        "outcome": None if item["outcome"] is None else spans(item["outcome"], given["outcome"]),
    }
    # The other keys are the same.
    kept = {key: value for key, value in item.items() if key in desk_selectors.LocationSummary.__annotations__}
    return cast(AdjudicatedLocation, kept | found)


def _wanted(access: Access, body: NewDecision) -> Wanted:
    """Return the request for the act. Raises Problem (422) for a field that the act needs or that names nothing."""
    act = body.act
    if act is Act.ANNOTATOR and body.annotator is None:
        raise invalid(("annotator", _("Give the number of the annotator.")))
    if act in WITH_A_SPAN and body.span is None:
        raise invalid(("span", _("Give start, end and label of the span.")))
    if act is Act.OWN and body.span is not None and body.span.quote is None:
        raise invalid(("span.quote", _("Give the text between start and end.")))
    if act is Act.ATTRIBUTE and body.attribute is None:
        raise invalid(("attribute", _("Give the name and the value of the attribute.")))
    if body.attribute is not None and body.attribute.value is False:
        raise invalid(("attribute.value", _("Send null to remove an attribute.")))
    own = body.span if act in WITH_A_SPAN else None
    changed = body.attribute if act is Act.ATTRIBUTE else None
    return Wanted(
        change_id=uuid4(),
        act=act,
        seen=tuple(ShownLocation(each.start, each.end, each.key) for each in body.seen),
        annotator=body.annotator if act is Act.ANNOTATOR else None,
        span=(own.start, own.end, label_coded(access.project, own.label, "span.label")) if own else None,
        quote=own.quote if own and act is Act.OWN else None,
        attribute=(changed.name, changed.value) if changed else None,
    )


def _span(triple: LabeledBounds, codes: Mapping[int, str], attributes: Mapping[str, Any]) -> DecidedSpan:
    start, end, label = triple
    its = attributes.get(f"{start}-{end}-{label}", {})
    return DecidedSpan(start=start, end=end, label=codes[label], attributes=its)


def _line(line: SpanOutcome, codes: Mapping[int, str]) -> OutcomeLine:
    def shown(span: Span | None) -> DecidedSpan | None:
        return None if span is None else _span((span.start, span.end, int(span.label)), codes, {})

    return OutcomeLine(fate=line.fate.value, own=shown(line.own), now=shown(line.now))


# ── The notes to adjudicate ──────────────────────────────────────────────────────────────────────────────────────────


class LastNote(Schema):
    """The note that was adjudicated last."""

    after: int | None = Field(None, ge=0, le=MAX_ID)


class NextNote(Schema):
    """The note to adjudicate next; null if none is left."""

    note: int | None


@router.get(LIST, Can.MAKE_GOLD, response=Page[adjudications.AdjudicationItem])
def list_adjudications(
    request: ApiRequest, access: Access, paging: Query[Paging], state: adjudications.Show = adjudications.Show.TODO
) -> PageAnswer:
    """List the notes that two or more annotators have submitted, by id."""
    compare(access.project)

    def fetch(after: int | None, size: int) -> Sequence[adjudications.AdjudicationItem]:
        rows = adjudications.adjudication_notes(access.project, state).filter(document_id__gt=after or 0)
        return adjudications.items_of(list(rows.order_by("document_id")[:size]))

    return paged(request, paging, fetch, lambda row: row, lambda row: row.note)


@router.get(f"{LIST}/counts", Can.MAKE_GOLD, response=adjudications.AdjudicationCounts)
def count_adjudications(access: Access) -> adjudications.AdjudicationCounts:
    """Count the notes to adjudicate."""
    compare(access.project)
    return adjudications.adjudication_counts(access.project)


@router.get(f"{LIST}/next", Can.MAKE_GOLD, response=NextNote)
def next_adjudication(access: Access, place: Query[LastNote]) -> NextNote:
    """Say which note to adjudicate next, after the note `after`: first those this person has begun, last others'."""
    compare(access.project)
    return NextNote(note=adjudications.next_to_adjudicate(access.project, place.after, access.user.pk))


@router.post(f"{LIST}/unanimous", Can.MAKE_GOLD, response=deciding.FinishedNotes)
def finish_unanimous_notes(access: Access) -> deciding.FinishedNotes:
    """Finish the notes on which all annotators agree, in a project that accepts them, some at a time."""
    compare(access.project)
    return deciding.finish_unanimous(project=access.project, user=access.user)


# ── Majority votes ───────────────────────────────────────────────────────────────────────────────────────────────────


class MajorityVote(ModelSchema):
    """A majority vote. `state`: working, done, undoing or undone. `job` is its job, or that of its undo.

    Of the `planned` notes, `gold` became gold, with `spans`; `left` were changed before their turn. An undo leaves the
    `kept` notes alone, which were changed since.
    """

    by: str
    job: int | None

    class Meta:
        model = MajorityAct
        fields: Sequence[str] = ("id", "state", "created_at", "ended_at", "planned", *COUNTS)

    @classmethod
    def of(cls, act: MajorityAct) -> Self:
        job = last_job(act)
        return cls(**vars(act) | {"by": act.user.username, "job": job.number if job else None})


@router.get(f"{VOTES}/preview", Can.MAKE_GOLD, response=adjudications.MajorityPreview)
def preview_majority_vote(access: Access) -> adjudications.MajorityPreview:
    """Count what a majority vote would decide."""
    compare(access.project)
    return adjudications.preview(access.project)


@router.get(VOTES, Can.MAKE_GOLD, response=list[MajorityVote])
def list_majority_votes(access: Access) -> list[MajorityVote]:
    """List the latest 20 majority votes, the newest first."""
    return [MajorityVote.of(row) for row in recent_votes(access.project)]


@router.post(VOTES, Can.MAKE_GOLD, response={202: JobItem})
def start_majority_vote(access: Access) -> Job:
    """Make the majority of the annotators gold in all notes that several annotators have submitted."""
    compare(access.project)
    return start_majority(project=access.project, user=access.user, key=str(uuid4()))


@router.get(VOTE, Can.MAKE_GOLD, response=MajorityVote)
def read_majority_vote(access: Access, vote: UUID) -> MajorityVote:
    """Read a majority vote."""
    return MajorityVote.of(_vote(access, vote))


@router.post(f"{VOTE}/undo", Can.MAKE_GOLD, response={202: JobItem})
def undo_majority_vote(access: Access, vote: UUID) -> Job:
    """Undo a majority vote. Notes that somebody changed since stay as they are."""
    return start_undo(act=_vote(access, vote), user=access.user)


def _vote(access: Access, pk: UUID) -> MajorityAct:
    return get_object_or_404(MajorityAct.objects.select_related("user", "project"), project=access.project, pk=pk)
