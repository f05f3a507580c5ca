"""Routes of the leak gate's findings: list, and decisions about them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

from django.utils.translation import gettext as _
from ninja import Field, Query, Schema

from annotations.core.access import Access, Can, note_for
from annotations.core.api.paging import Page, PageAnswer, Paging, paged, paged_rows
from annotations.core.api.routes import Answer, ApiRequest, AsText, Body, ProjectRouter, Username, invalid, named
from annotations.core.services import record_reads
from annotations.models import ReleasedNoteState, ReleaseState
from annotations.notes.api import read_set
from annotations.release.api.releases import Named, ReleasedPiece
from annotations.release.rules.redaction.released import RedactedText
from annotations.release.selectors.findings import FindingInSentence, findings_of, in_context, passing, stored_pieces
from annotations.release.selectors.releases import released_notes
from annotations.release.services.deciding import answer_chosen
from annotations.release.services.previewing import show_released, viewed
from annotations.text.names import MAX_ID
from annotations.text.spans import Span

router = ProjectRouter(tags=["Releases"])
PATH = "/projects/{slug:slug}/releases/{int:release}/findings"


class FindingItem(Answer):
    """An identifier that the leak gate found, in its sentence: `before`, `marked`, `after`.

    `string` is the same for all findings of one string. `start` and `end` are code points, end-exclusive, of the
    released text or, with `where` name, of the note's name; with `attr`, of the attributes of a span, in one line. They
    are equal where a decision left nothing.
    `label` is empty if no label fits, or several: then a decision to replace it names one.
    `origin` is note, patient, known, denied, shape, rules, run, muted or audit; `part`: only a part of the labeled
    string. `decision` is empty, replace or allow.
    """

    id: int = Field(validation_alias="finding.pk")
    string: AsText = Field(validation_alias="finding.string_key")
    note: int
    where: str = Field(validation_alias="finding.where")
    start: int
    end: int
    before: str
    marked: str
    after: str
    origin: str = Field(validation_alias="finding.origin")
    part: bool = Field(validation_alias="finding.part")
    label: str = Field(validation_alias="finding.label")
    source: int | None = Field(validation_alias="finding.source_id")
    source_start: int | None = Field(validation_alias="finding.source_start")
    source_end: int | None = Field(validation_alias="finding.source_end")
    decision: str = Field(validation_alias="finding.decision")
    decided_by: Username = Field(validation_alias="finding.decided_by")
    decided_at: datetime | None = Field(validation_alias="finding.decided_at")


class FindingsAnswer(Body):
    """An answer to findings, to all findings of one string, or (`all`) to all. Name one of the three.

    `replace` treats the place as the policy says, `allow` leaves it, `undo` opens the findings again. `label`: the code
    of the label whose placeholder replaces findings without a label.
    """

    answer: Literal["replace", "allow", "undo"]
    findings: list[int] = Field([], max_length=10_000)
    string: str = Field("", pattern="^(-?[0-9]{1,19})?$")
    all: bool = False
    label: str = Field("", max_length=60)


class Decided(Schema):
    """How many findings changed, how many are open, and the release's state and job.

    After many replacements a job prepares the notes again.
    """

    changed: int
    open_findings: int
    state: str
    job: int | None


@router.get(PATH, Can.RELEASE, response=Page[FindingItem])
def list_findings(
    request: ApiRequest,
    access: Access,
    release: Named,
    paging: Query[Paging],
    state: Literal["open", "decided", "all"] = "all",
) -> PageAnswer:
    """List the findings of the leak gate. The audit log records that their notes were read."""

    def fetch(after: int | None, size: int) -> Sequence[FindingInSentence]:
        rows = passing(findings_of(release), state).filter(pk__gt=after or 0).order_by("pk")
        shown = list(in_context(rows.select_related("decided_by", "note__document")[:size]).values())
        notes = (one.note for one in shown)
        record_reads(actor=access.user, project_id=access.project.pk, notes=notes, what="leak findings")
        return shown

    return paged(request, paging, fetch, FindingItem.model_validate, lambda one: one.finding.pk)


@router.post(f"{PATH}/decide", Can.RELEASE, response=Decided)
def decide_findings(access: Access, release: Named, body: FindingsAnswer) -> Decided:
    """Decide findings of the leak gate, or undo decisions. Findings that were decided meanwhile stay as they are."""
    if sum([bool(body.findings), bool(body.string), body.all]) != 1:
        raise invalid(("findings", _("Name findings, or a string, or set “all”: exactly one of the three.")))
    if any(not 0 < one <= MAX_ID for one in body.findings):
        raise invalid(("findings", _("These are not ids of findings.")))
    key = int(body.string) if body.string else None
    if key is not None and abs(key) > MAX_ID:
        raise invalid(("string", _("This is not the key of a string.")))
    with named({"label": "label"}):
        changed = answer_chosen(
            release=release, answer=body.answer, findings=body.findings,
            string_key=key, actor=access.user, label=body.label,
        )  # fmt: skip
    job = release.job.number if release.job and release.state == ReleaseState.PREPARING else None
    return Decided(changed=changed, open_findings=release.open_findings, state=release.state, job=job)


# Routes of released notes, and of notes as a release would show them.


NOTES_PATH = "/projects/{slug:slug}/releases/{int:release}/notes"


class ReleasedItem(Answer):
    """A note of a release: `note` and `original_name` are those of the original. `state` is pending, done or held."""

    note: int = Field(validation_alias="document_id")
    original_name: str = Field(validation_alias="document.name")
    name: str
    state: str
    spans: int = Field(validation_alias="span_count")


class ReleasedSpan(Schema):
    """A span of the released text: offsets in code points, end-exclusive, and the label's code."""

    start: int
    end: int
    label: str


class ReleasedText(ReleasedItem):
    """A note with its original and its released text, which is empty while the note is pending."""

    original: str
    text: str
    sha256: str
    released_spans: list[ReleasedSpan]
    pieces: list[ReleasedPiece]


class ViewedNote(Answer):
    """The text of a note with its spans masked, or replaced by surrogates, and what replaced what."""

    text: str
    pieces: list[ReleasedPiece]


@router.get(NOTES_PATH, Can.RELEASE, response=Page[ReleasedItem])
def list_released(request: ApiRequest, access: Access, release: Named, paging: Query[Paging]) -> PageAnswer:
    """List the notes of a release."""
    return paged_rows(request, paging, released_notes(release), ReleasedItem.model_validate)


@router.get(f"{NOTES_PATH}/{{int:note}}", Can.RELEASE, response=ReleasedText)
def read_released(access: Access, release: Named, note: int) -> ReleasedText:
    """Read the original and the released text of a note. The audit log records it."""
    row = show_released(release=release, note=note, actor=access.user)
    pending = row.state == ReleasedNoteState.PENDING
    spans = [] if pending else row.spans
    pieces = [] if pending else stored_pieces(row.pieces)
    return ReleasedText(
        **ReleasedItem.model_validate(row).dict(),
        original=row.document.text,
        text="" if pending else row.text,
        sha256=row.sha256,
        released_spans=[ReleasedSpan(start=start, end=end, label=label) for start, end, label, *_attributes in spans],
        pieces=list(map(ReleasedPiece.model_validate, pieces)),
    )


@router.get(
    "/projects/{slug:slug}/notes/{int:note}/sets/{int:annotation_set}/released", Can.READ_NOTES, response=ViewedNote
)
def view_released(
    request: ApiRequest,
    access: Access,
    note: int,
    annotation_set: int,
    view: Literal["masked", "surrogates"] = "masked",
) -> RedactedText:
    """Show a note with the spans of an annotation set masked or replaced. Nothing is stored but that it was read."""
    document = note_for(access, note)
    chosen = read_set(request, access.slug, note, annotation_set)
    spans = [Span(one.start, one.end, one.label) for one in chosen.items]
    return viewed(document=document, spans=spans, view=view)
