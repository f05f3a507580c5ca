"""Routes of the adjudication of one note: read, decide, finish, reopen. And its outcome for annotators."""

from collections.abc import Mapping
from typing import Any, Final, Self
from uuid import uuid4

from django.utils.translation import gettext as _
from ninja import Field, Router, Schema

from annotations.agreement.rules.outcome import Fated
from annotations.agreement.selectors.adjudication.desk import DeskState, LocationItem, SpanTriple, desk, desk_state
from annotations.agreement.services.adjudication.deciding import decide, finish_adjudication, reopen
from annotations.agreement.services.adjudication.outcome import open_outcome
from annotations.agreement.services.adjudication.plan import Act, Seen
from annotations.agreement.services.adjudication.plan import Request as Wanted
from annotations.core.access import Access, Can, note_for
from annotations.core.api.problems import invalid, named
from annotations.core.api.requests import ApiRequest, enter
from annotations.core.api.schemas import Body
from annotations.core.events import NOTE_READ
from annotations.models import Document, Label
from annotations.notes.api import codes_of
from annotations.text.names import MAX_OFFSET
from annotations.text.spans import Span

router = Router(tags=["Adjudication"])
NOTE: Final = "/projects/{slug:slug}/notes/{int:note}"
PATH: Final = f"{NOTE}/adjudication"
MOST_LOCATIONS: Final = 20_000
WITH_A_SPAN: Final = (Act.OWN, Act.DROP, Act.ATTRIBUTE)
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


class DeskAnnotator(Schema):
    """An annotator who submitted the note. The number stays the same; the name may be hidden."""

    number: int
    name: str


class AdjudicatedLocation(Schema):
    """A location that somebody marked. Send `start`, `end` and `key` to decide it as it is now.

    `state`: open, agreed (all annotators agree, no decision yet), decided or changed since. `versions` are in the
    order of `annotators`; `majority` and `outcome` are null without one. `annotator`: whose version was accepted.
    """

    start: int
    end: int
    key: str
    state: str
    consensus: str
    versions: list[list[DecidedSpan]]
    majority: list[DecidedSpan] | None
    outcome: list[DecidedSpan] | None
    choice: str
    annotator: int | None
    by: str
    at: str
    causes: list[str]

    @classmethod
    def of(cls, item: LocationItem, codes: Mapping[int, str]) -> Self:
        given = item.get("attributes")
        versions = given["versions"] if given else [{} for _version in item["versions"]]

        def spans(triples: list[SpanTriple] | None, attributes: Mapping[str, Any]) -> list[DecidedSpan] | None:
            return None if triples is None else [_span(triple, codes, attributes) for triple in triples]

        return cls(
            start=item["start"], end=item["end"], key=item["key"], state=item["state"], consensus=item["consensus"],
            versions=[spans(one, its) or [] for one, its in zip(item["versions"], versions, strict=True)],
            majority=spans(item["majority"], given["majority"] if given else {}),
            outcome=spans(item["outcome"], given["outcome"] if given else {}),
            choice=item["choice"], annotator=item["annotator"], by=item["by"], at=item["at"], causes=item["causes"],
        )  # fmt: skip


class Desk(Schema):
    """The adjudication of a note. `open`: locations without a decision. `ready`: two annotators have submitted.

    `passes`: locations on which all annotators agree need no decision. `missing` names annotators who have not
    submitted the note.
    """

    version: int
    finished: bool
    ready: bool
    passes: bool
    open: int
    annotators: list[DeskAnnotator]
    missing: list[str]
    locations: list[AdjudicatedLocation]

    @classmethod
    def of(cls, state: DeskState, project: int) -> Self:
        codes = codes_of(project)
        return cls(
            version=state["version"], finished=state["finished"], ready=state["ready"], passes=state["passes"],
            open=state["open"], annotators=[DeskAnnotator(**each) for each in state["annotators"]],
            missing=state["missing"], locations=[AdjudicatedLocation.of(each, codes) for each in state["locations"]],
        )  # fmt: skip


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


class OutcomeLine(Schema):
    """One's own span, and what became of it: kept, changed, left_out, or missed (a span that one did not mark)."""

    fate: str
    own: DecidedSpan | None
    now: DecidedSpan | None


class AdjudicationOutcome(Schema):
    items: list[OutcomeLine]


@router.get(PATH, response=Desk)
def read_adjudication(request: ApiRequest, slug: str, note: int) -> Desk:
    """Read the adjudication of a note. The audit log records it."""
    access, document = _open(request, slug, note)
    NOTE_READ.record(actor=access.user, project_id=document.project_id, document_id=document.pk)
    return _state(access, document)


@router.post(f"{PATH}/decide", response=Desk)
def decide_locations(request: ApiRequest, slug: str, note: int, body: NewDecision) -> Desk:
    """Decide a location, or undo or redo one's own last act. A location that changed meanwhile is a conflict."""
    access, document = _open(request, slug, note)
    wanted = _wanted(access, body)
    with named(_FIELDS):
        state = decide(project=access.project, document=document, user=access.user, request=wanted)
    return Desk.of(state, access.project.pk)


@router.post(f"{PATH}/finish", response=Desk)
def finish_adjudicating(request: ApiRequest, slug: str, note: int) -> Desk:
    """Finish the adjudication, so that its outcome can become gold and annotators see it."""
    access, document = _open(request, slug, note)
    finish_adjudication(project=access.project, document=document, user=access.user)
    return _state(access, document)


@router.post(f"{PATH}/reopen", response=Desk)
def reopen_adjudication(request: ApiRequest, slug: str, note: int) -> Desk:
    """Reopen a finished adjudication. Its decisions stay."""
    access, document = _open(request, slug, note)
    reopen(project=access.project, document=document, user=access.user)
    return _state(access, document)


@router.get(f"{NOTE}/outcome", response=AdjudicationOutcome)
def read_outcome(request: ApiRequest, slug: str, note: int) -> AdjudicationOutcome:
    """Compare one's own submitted spans with the adjudicated ones. Later annotations of this note are not blind.

    404 until the adjudication is finished, 403 where the project does not show outcomes.
    """
    access = enter(request, slug, Can.ANNOTATE)
    document = note_for(access, note)
    found, codes = open_outcome(access=access, note=document), codes_of(access.project.pk)
    return AdjudicationOutcome(items=[_line(line, codes) for line in found.lines])


# ── Parts ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def _open(request: ApiRequest, slug: str, note: int) -> tuple[Access, Document]:
    access = enter(request, slug, Can.MAKE_GOLD)
    document = note_for(access, note)
    document.project = access.project
    return access, document


def _state(access: Access, document: Document) -> Desk:
    return Desk.of(desk_state(access.project, desk(access.project, document)), access.project.pk)


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
        seen=tuple(Seen(each.start, each.end, each.key) for each in body.seen),
        annotator=body.annotator if act is Act.ANNOTATOR else None,
        span=(own.start, own.end, _label(access, own.label)) if own else None,
        quote=own.quote if own and act is Act.OWN else None,
        attribute=(changed.name, changed.value) if changed else None,
    )


def _label(access: Access, code: str) -> int:
    labels = Label.objects.filter(label_set__project=access.project, merged_into__isnull=True, code=code)
    found = labels.values_list("pk", flat=True).first()
    if found is None:
        raise invalid(("span.label", _("The project has no label with this code.")))
    return found


def _span(triple: SpanTriple, codes: Mapping[int, str], attributes: Mapping[str, Any]) -> DecidedSpan:
    start, end, label = triple
    its = attributes.get(f"{start}-{end}-{label}", {})
    return DecidedSpan(start=start, end=end, label=codes[label], attributes=its)


def _line(line: Fated, codes: Mapping[int, str]) -> OutcomeLine:
    def shown(span: Span | None) -> DecidedSpan | None:
        return None if span is None else _span((span.start, span.end, int(span.label)), codes, {})

    return OutcomeLine(fate=line.fate.value, own=shown(line.own), now=shown(line.now))
