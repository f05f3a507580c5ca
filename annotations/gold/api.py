"""Routes of gold: make and withdraw it, freeze, versions, splits, changes between versions, statistics."""

import uuid
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, Self

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from ninja import Field, Query, Schema
from ninja.responses import Status

from annotations.core.access import Access, Can, closed_to, sets_for
from annotations.core.api.answers import check_if_match
from annotations.core.api.paging import Page, PageAnswer, Paging, paged, paged_rows
from annotations.core.api.routes import Answer, ApiRequest, Body, Problem, ProjectRouter, Username, check, named
from annotations.gold import selectors
from annotations.gold.forms import READY_MADE, FreezeForm, ReadyMadeForm, SplitForm
from annotations.gold.jobs import start_gold, start_statistics
from annotations.gold.selectors.state import GoldCandidate, GoldState, state_for
from annotations.gold.services import statistics
from annotations.gold.services.making import freeze, make_gold, withdraw_gold
from annotations.gold.services.splitting import patients_in_two_splits, split_by_lines, split_table, split_version
from annotations.jobs.api import JobItem
from annotations.models import AnnotationSet, Document, GoldVersion, Job
from annotations.text.names import MAX_ID

router = ProjectRouter(tags=["Gold"])
GOLD = "/projects/{slug:slug}/gold"
VERSION = f"{GOLD}/versions/{{int:version}}"
NOTE = "/projects/{slug:slug}/notes/{int:note}/gold"


def _version(access: Access, number: int) -> GoldVersion:
    return selectors.version_for(access.project, number)


Version = Annotated[GoldVersion, _version]
NoteForGold = Annotated[Document, selectors.note_for_gold]


class GoldNow(Answer):
    """The gold as it is now. `changed`: freezing would make a new version."""

    notes: int
    spans: int
    in_review: int
    disputed: int = Field(validation_alias="disputed.count")
    changed: bool
    sources: list[GoldCandidate]


class VersionItem(Answer):
    """A frozen version. `content_hash` is the SHA-256 of names, texts and spans; `seed` is empty without a split."""

    number: int
    reason: str
    notes: int = Field(validation_alias="note_count")
    spans: int = Field(validation_alias="span_count")
    erased: int = Field(validation_alias="erased_count")
    content_hash: str
    seed: str = Field(validation_alias="split_seed")
    shares: dict[str, int] | None = Field(validation_alias="split_shares")
    created_by: Username
    created_at: datetime


class VersionDetail(VersionItem):
    """A version with its split: notes, patients and spans by split. `in_two_splits` counts patients in several ones."""

    split: list[dict[str, Any]]
    in_two_splits: int

    @classmethod
    def of_version(cls, one: GoldVersion) -> Self:
        split = one.split_seed != ""
        return cls(
            **VersionItem.model_validate(one).dict(), split=split_table(one) if split else [],
            in_two_splits=patients_in_two_splits(one) if split else 0,
        )  # fmt: skip


class VersionNoteItem(Answer):
    """A note of a version, with the number of its spans and its split, which may be empty."""

    id: int = Field(validation_alias="pk")
    name: str
    spans: int
    split: str


class NewVersion(Body):
    """The reason is shown with the version permanently. It must not hold personal data."""

    reason: str = ""


class NewSplit(Body):
    """Seed and percent of each split, which add up to 100. The same seed keeps every patient in the same split.

    Instead of percents, `lines` are a ready-made split: a note's name or a pattern (dev/*), a comma and the split.
    """

    seed: str = ""
    lines: str = Field("", max_length=5_000_000)
    train: int = 80
    dev: int = 10
    test: int = 10


class ChangesQuery(Schema):
    since: int | None = Field(None, ge=0, le=MAX_ID, description="The version to compare with.")


class NewGold(Body):
    """The submitted annotation set that becomes gold, and its version as it was read.

    `replace`: in place of the note's gold, whose ETag is sent as If-Match.
    """

    set: int = Field(ge=1, le=MAX_ID)
    version: int = Field(ge=0, le=MAX_ID)
    replace: bool = False


class GoldOfNote(Schema):
    """The gold of a note: the id of its annotation set, state and version."""

    set: int
    state: str
    version: int
    spans: int


class BulkGold(Body):
    """The author (an id of `sources`) whose submitted annotation sets become gold in notes without gold."""

    author: int = Field(ge=1, le=MAX_ID)


@router.get(GOLD, Can.READ_NOTES, response=GoldNow)
def read_gold(access: Access) -> GoldState:
    """Count the gold, and list the authors that it can be made from."""
    return state_for(access, selectors.version_rows(access.project).first())


@router.post(f"{GOLD}/make", Can.MAKE_GOLD, response={202: JobItem})
def make_gold_of_author(access: Access, body: BulkGold) -> Job:
    """Make all submitted annotation sets of an author gold, in notes without gold. This is a job."""
    if closed_to(access, authors=[body.author]):
        raise PermissionDenied("This person may not use these annotation sets.")
    with named({"author": "author"}):
        return start_gold(
            project=access.project, author_id=body.author, actor=access.user, token=uuid.uuid4().hex
        )  # fmt: skip


@router.get(NOTE, Can.READ_NOTES, response=GoldOfNote)
def read_gold_of_note(response: HttpResponse, access: Access, note: NoteForGold) -> GoldOfNote:
    """Read whether a note has gold. Its spans are those of the annotation set."""
    return _gold_shown(response, note)


@router.post(NOTE, Can.MAKE_GOLD, response=GoldOfNote)
def make_gold_of_note(
    request: ApiRequest, response: HttpResponse, access: Access, note: NoteForGold, body: NewGold
) -> GoldOfNote:
    """Make a submitted annotation set gold. Gold with the same spans stays as it is."""
    chosen = get_object_or_404(sets_for(access).select_related("author"), document=note, pk=body.set)
    if chosen.version != body.version:
        raise Problem(409, "changed", _("These annotations changed after you read them. Nothing was done."))
    if body.replace and (gold := selectors.gold_of(note)) is not None:
        check_if_match(request, _etag(gold))
    make_gold(document=note, annotation_set=chosen, actor=access.user, replace=body.replace)
    return _gold_shown(response, note)


@router.delete(NOTE, Can.MAKE_GOLD, response={204: None})
def withdraw_gold_of_note(request: ApiRequest, access: Access, note: NoteForGold) -> None:
    """Remove the gold of a note. Frozen versions keep their copy."""
    if (gold := selectors.gold_of(note)) is None:
        raise Http404("This note has no gold.")
    check_if_match(request, _etag(gold))
    withdraw_gold(document=note, actor=access.user)


@router.get(f"{GOLD}/versions", Can.READ_NOTES, response=Page[VersionItem])
def list_gold_versions(request: ApiRequest, access: Access, paging: Query[Paging]) -> PageAnswer:
    """List the frozen versions of the gold, the newest first."""
    rows = selectors.version_rows(access.project)
    return paged_rows(request, paging, rows, VersionItem.model_validate, newest_first=True, by="number")


@router.post(f"{GOLD}/versions", Can.MAKE_GOLD, response={200: VersionItem, 201: VersionItem})
def freeze_gold_version(access: Access, body: NewVersion) -> Status[GoldVersion]:
    """Freeze the gold as its next version. Without a change since, the last version is returned (200)."""
    wanted = check(FreezeForm(body.dict()))
    version, made = freeze(project=access.project, actor=access.user, reason=wanted["reason"])
    return Status(201 if made else 200, version)


@router.get(VERSION, Can.READ_NOTES, response=VersionDetail)
def read_gold_version(access: Access, version: Version) -> VersionDetail:
    """Read a frozen version with its split."""
    return VersionDetail.of_version(version)


@router.get(f"{VERSION}/notes", Can.READ_NOTES, response=Page[VersionNoteItem])
def list_version_notes(request: ApiRequest, access: Access, version: Version, paging: Query[Paging]) -> PageAnswer:
    """List the notes of a frozen version."""

    def fetch(after: int | None, size: int) -> Sequence[selectors.VersionNote]:
        return selectors.version_page(version, after=after, before=None, size=size).rows

    return paged(request, paging, fetch, VersionNoteItem.model_validate, lambda row: row.pk)


@router.post(f"{VERSION}/split", Can.MAKE_GOLD, response=VersionDetail)
def split_gold_version(access: Access, version: Version, body: NewSplit) -> VersionDetail:
    """Split a version into train, dev and test by patient. The same request again changes nothing."""
    with named({"seed": "seed", "shares": "train", "from": "lines"}):
        if body.lines:
            ready = check(ReadyMadeForm({"lines": body.lines, "seed": body.seed or READY_MADE}))
            split_by_lines(version=version, lines=ready["lines"], seed=ready["seed"], actor=access.user)
        else:
            check(form := SplitForm(body.dict()))
            split_version(version=version, seed=form.cleaned_data["seed"], shares=form.shares, actor=access.user)
    return VersionDetail.of_version(selectors.version_for(access.project, version.number))


@router.get(f"{VERSION}/changes", Can.READ_NOTES, response=statistics.GoldChanges)
def list_gold_changes(access: Access, version: Version, wanted: Query[ChangesQuery]) -> statistics.GoldChanges:
    """List what changed since another version, by default since the one before; at most 50,000 changes of spans."""
    before = selectors.version_for(access.project, version.number - 1 if wanted.since is None else wanted.since)
    return statistics.version_diff(before, version)


@router.get(f"{VERSION}/statistics", Can.READ_NOTES, response=dict[str, Any])
def read_statistics(access: Access, version: Version) -> dict[str, Any]:
    """Count notes, tokens and spans by split, label and category. A large version needs a job first (409)."""
    parts = statistics.kept_statistics(version)
    if parts is None and statistics.takes_long(version):
        raise Problem(409, "not-counted", _("This version is large. Start the job that counts it, then read again."))
    return statistics.table_of(version, statistics.statistics_of(version) if parts is None else parts)


@router.post(f"{VERSION}/statistics", Can.READ_NOTES, response={202: JobItem})
def start_gold_statistics(access: Access, version: Version) -> Job:
    """Start the job that counts a version."""
    return start_statistics(version=version, actor=access.user, token=uuid.uuid4().hex)


def _etag(gold: AnnotationSet) -> str:
    return f'"gold-{gold.pk}-{gold.version}"'


def _gold_shown(response: HttpResponse, note: Document) -> GoldOfNote:
    gold = selectors.gold_of(note)
    if gold is None:
        raise Http404("This note has no gold.")
    response["ETag"] = _etag(gold)
    return GoldOfNote(set=gold.pk, state=gold.state, version=gold.version, spans=gold.spans.count())
