"""Routes of disagreements: list, count, read one, by sentence, causes; and of the amendments of the guidelines."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Final, Literal, Self

from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.utils import timezone
from django.utils.translation import gettext as _
from ninja import Field, Query, Schema

from annotations.agreement.forms import AmendmentForm
from annotations.agreement.rules.disagreement import DisagreementKind
from annotations.agreement.rules.units import ComparedUnit
from annotations.agreement.selectors import disagreements
from annotations.agreement.selectors.sentences import SentenceView, sentence_lines, sentences
from annotations.agreement.services.comparing import bring_up_to_date
from annotations.agreement.services.figures import amend, change_cause
from annotations.core.access import Access, Can, note_for
from annotations.core.answers import csv_answer
from annotations.core.api import routes
from annotations.core.api.answers import check_if_match, unless_stale
from annotations.core.api.mount import sends
from annotations.core.api.paging import Page, PageAnswer, Paging, paged, paged_rows
from annotations.core.services import FILE_DOWNLOADED, record_reads
from annotations.models import Amendment, Author, AuthorKind, CauseKind, Difference, Document, Project
from annotations.notes.api import label_coded
from annotations.projects.api import version_tag
from annotations.text.names import MAX_ID, MAX_OFFSET

router = routes.ProjectRouter(tags=["Agreement"])
SECONDS: Final = 1.5
"""For which one request may compare notes."""
PATH = "/projects/{slug:slug}/disagreements"
AMENDMENTS = "/projects/{slug:slug}/guidelines/amendments"
ONE = "/projects/{slug:slug}/notes/{int:note}/disagreements/{int:start}/{int:end}"
# A place in a list is one number: the note's id, and the offset in the lower bits.
BITS = MAX_OFFSET.bit_length()


class DisagreementFilters(Schema):
    """Filters. By default, the annotation sets count that also count in the figures of agreement."""

    kind: DisagreementKind | None = None
    label: str = Field("", max_length=60, description="Code of a label.")
    pair: str = Field("", max_length=310, description="User names of two annotators, separated by a comma.")
    note: int | None = Field(None, ge=0, le=MAX_ID)
    round: int | None = Field(None, ge=0, le=MAX_OFFSET)
    cause: Literal["AB", "AM", "D", "S", "none", ""] = ""
    unit: ComparedUnit | None = None
    annotation_sets: Literal["counted", "all"] = "counted"


class TaggedSentence(Schema):
    """A sentence (code points, end-exclusive) with its tokens, and each annotator's BIO tags by name."""

    start: int
    end: int
    text: str
    tokens: list[str]
    tags: dict[str, list[str]]


class Disagreement(routes.Answer):
    """A location (code points, end-exclusive) in its sentence.

    `kinds`: missed, boundary, label, both, attributes. `attributes`: the spans there with their attributes in words,
    by annotator. `adjudication`: the state of the note's adjudicated set; empty before it begins.
    """

    note: int = Field(validation_alias="row.document_id")
    name: str = Field(validation_alias="sentence.note.name")
    start: int = Field(validation_alias="row.start")
    end: int = Field(validation_alias="row.end")
    kinds: list[str]
    causes: list[str]
    comments: int
    adjudication: str = Field(validation_alias="adjudicated")
    sentence: TaggedSentence
    attributes: dict[str, list[str]]


class SentenceItem(routes.Answer):
    """A sentence with disagreements."""

    note: int = Field(validation_alias="sentence.note.pk")
    name: str = Field(validation_alias="sentence.note.name")
    sentence: TaggedSentence


class LocationCauses(Schema):
    """The causes of the location."""

    causes: list[str]


class NewLocationCause(routes.Body):
    """A cause: AB (abbreviation), AM (ambiguity), D (debatable) or S (scarcity). `present: false` removes it."""

    kind: str = Field(max_length=10)
    present: bool = True


@router.get(PATH, Can.READ_NOTES, response=Page[Disagreement])
def list_disagreements(
    request: routes.ApiRequest, access: Access, paging: Query[Paging], wanted: Query[DisagreementFilters]
) -> PageAnswer:
    """List the locations where annotators disagree, in the order of the notes."""
    filters = _compared(access, wanted)
    found = disagreements.differences(access.project, filters)

    def fetch(after: int | None, size: int) -> Sequence[disagreements.DisagreementView]:
        return _shown(access, list(disagreements.following(found, _placed(after))[:size]), filters)

    return paged(
        request, paging, fetch, Disagreement.from_orm, lambda shown: _place(shown.row.document_id, shown.row.start)
    )


@router.get(f"{PATH}/counts", Can.READ_NOTES, response=disagreements.DisagreementCounts)
def count_disagreements(access: Access, wanted: Query[DisagreementFilters]) -> disagreements.DisagreementCounts:
    """Count the locations, and those of each kind."""
    filters = _compared(access, wanted)
    return disagreements.counts(disagreements.differences(access.project, filters))


@router.get(f"{PATH}/sentences", Can.READ_NOTES, response=Page[SentenceItem])
def list_disagreement_sentences(
    request: routes.ApiRequest, access: Access, paging: Query[Paging], wanted: Query[DisagreementFilters]
) -> PageAnswer:
    """List the sentences in which annotators disagree, in the order of the notes."""
    filters = _compared(access, wanted)

    def fetch(after: int | None, size: int) -> Sequence[SentenceView]:
        found = sentences(access.project, filters, hidden=access.unnamed, after=_placed(after))
        page = list(islice(found, size))
        _record(access, (one.stretch.document_id for one in page))
        return page

    return paged(
        request, paging, fetch, SentenceItem.from_orm, lambda one: _place(one.stretch.document_id, one.stretch.last)
    )


@router.get(f"{PATH}.csv", Can.EXPORT, openapi_extra=sends("text/csv"))
def export_disagreements(access: Access, wanted: Query[DisagreementFilters]) -> StreamingHttpResponse:
    """Get the sentences in which annotators disagree as a table. The audit log records it."""
    filters = _compared(access, wanted)
    FILE_DOWNLOADED.record(actor=access.user, project_id=access.project.pk, data={"sentences": "csv"})
    lines = sentence_lines(access.project, filters, hidden=access.unnamed)
    return csv_answer(lines, f"{access.slug}-disagreements-{timezone.localdate().isoformat()}.csv")


@router.get(ONE, Can.READ_NOTES, response=Disagreement)
def read_disagreement(
    access: Access, note: routes.Note, start: int, end: int,
    annotation_sets: Literal["counted", "all"] = "counted",
) -> disagreements.DisagreementView:  # fmt: skip
    """Read one location. Its discussion is among the comments of the note."""
    compare(access.project)
    filters = disagreements.Filters(note=note.pk, everyone=annotation_sets == "all")
    rows = list(disagreements.differences(access.project, filters).filter(start=start, end=end)[:1])
    if not rows:
        raise Http404("Annotators don't disagree at this location.")
    [shown] = _shown(access, rows, filters)
    return shown


@router.post(f"{ONE}/causes", Can.MAKE_GOLD, response=LocationCauses)
def change_causes(access: Access, note: routes.Note, start: int, end: int, body: NewLocationCause) -> LocationCauses:
    """Add a cause to a location, or remove it. A location may have several."""
    if not 0 <= start < end <= note.length:
        raise Http404("The note has no such location.")
    with routes.named({"kind": "kind"}):
        chosen = change_cause(
            document=note, start=start, end=end, kind=body.kind, present=body.present, user=access.user
        )
    return LocationCauses(causes=chosen)


def compare(project: Project) -> None:
    """Compare the notes with changed annotations. Raises Problem (503) while some are left."""
    if left := bring_up_to_date(project, seconds=SECONDS):
        message = _("The annotations are being compared. Notes left: %(left)s. Send the request again.")
        raise routes.Problem(503, "comparing", message % {"left": left}, headers={"Retry-After": "1"})


def _compared(access: Access, wanted: DisagreementFilters) -> disagreements.Filters:
    filters = _filters(access, wanted)
    compare(access.project)
    return filters


def _filters(access: Access, wanted: DisagreementFilters) -> disagreements.Filters:
    label = label_coded(access.project, wanted.label) if wanted.label else None
    assert disagreements.UNTAGGED == "none" and set(CauseKind.values) == {"AB", "AM", "D", "S"}  # As in `Wanted`.
    return disagreements.Filters(
        kind=wanted.kind or "", label=label, pair=_pair(access, wanted.pair), note=wanted.note,
        round=wanted.round, cause=wanted.cause, unit=wanted.unit or "", everyone=wanted.annotation_sets == "all",
    )  # fmt: skip


def _pair(access: Access, pair: str) -> tuple[int, int] | None:
    """Return the author ids of the two annotators. Raises Problem (422) for other names, and where names are hidden."""
    if not pair:
        return None
    if access.unnamed:
        raise routes.invalid(("pair", str(disagreements.NO_PAIRS)))
    authors = dict(Author.objects.filter(project=access.project, kind=AuthorKind.ANNOTATOR).values_list("name", "pk"))
    found = [authors.get(name) for name in pair.split(",")]
    match found:
        case [int(one), int(other)] if one != other:
            return one, other
    raise routes.invalid(("pair", _("Give the user names of two annotators of this project, separated by a comma.")))


def _shown(
    access: Access, rows: list[Difference], filters: disagreements.Filters
) -> list[disagreements.DisagreementView]:
    found = disagreements.in_context(access.project, rows, everyone=filters.everyone, hidden=access.unnamed)
    _record(access, (one.row.document_id for one in found))
    return found


def _record(access: Access, notes: Iterable[int]) -> None:
    record_reads(actor=access.user, project_id=access.project.pk, notes=notes, what="disagreements")


def _place(note: int, start: int) -> int:
    return note << BITS | start


def _placed(place: int | None) -> tuple[int, int] | None:
    return None if place is None else (place >> BITS, place & MAX_OFFSET)


# ── Amendments of the guidelines, which separate the rounds of a project ─────────────────────────────────────────────


class AmendmentItem(routes.Answer):
    """A rule that was added to the guidelines, and so made `version` of them.

    `note`, `start` and `end` are the location that led to it, only for people who may read every note.
    """

    number: int
    text: str
    version: int = Field(validation_alias="guidelines_version")
    by: routes.Username
    at: datetime
    note: int | None = Field(None, validation_alias="document_id")
    start: int | None = None
    end: int | None = None

    @classmethod
    def of(cls, row: Amendment, *, located: bool) -> Self:
        item = cls.from_orm(row)
        return item if located else item.model_copy(update=dict.fromkeys(("note", "start", "end")))


class NewAmendment(routes.Body):
    """A rule in Markdown, and the location (code points, end-exclusive) that led to it, if any."""

    text: str
    note: int | None = Field(None, ge=0, le=MAX_ID)
    start: int | None = Field(None, ge=0, le=MAX_OFFSET)
    end: int | None = Field(None, ge=0, le=MAX_OFFSET)


@router.get(AMENDMENTS, Can.SEE_PROJECT, response=Page[AmendmentItem], tags=["Guidelines"])
def list_amendments(request: routes.ApiRequest, access: Access, paging: Query[Paging]) -> PageAnswer:
    """List the amendments, the newest first."""
    rows = Amendment.objects.filter(project=access.project).select_related("by")
    item = partial(AmendmentItem.of, located=access.can(Can.READ_NOTES))
    return paged_rows(request, paging, rows, item, newest_first=True, by="number")


@router.post(AMENDMENTS, Can.MANAGE, response={201: AmendmentItem}, tags=["Guidelines"])
def new_amendment(
    request: routes.ApiRequest, response: HttpResponse, access: Access, body: NewAmendment
) -> AmendmentItem:
    """Add a rule at the end of the guidelines, and begin another round. If-Match is the ETag of the guidelines."""
    check_if_match(request, version_tag(access.project))
    wanted = routes.check(AmendmentForm({"text": body.text, "seen_version": access.project.guidelines_version}))
    location, seen = _location(access, body), wanted["seen_version"]
    with unless_stale(lambda: version_tag(Project.objects.get(pk=access.project.pk))):
        made = amend(
            project=access.project, text=wanted["text"], actor=access.user, location=location, seen_version=seen
        )
    access.project.refresh_from_db()
    response["ETag"] = version_tag(access.project)
    return AmendmentItem.of(made, located=True)


def _location(access: Access, body: NewAmendment) -> tuple[Document, int, int] | None:
    if body.note is None:
        return None
    note = note_for(access, body.note)
    if body.start is None or body.end is None or not body.start < body.end <= note.length:
        raise routes.invalid(("start", _("Give start and end of a location in the note.")))
    return note, body.start, body.end
