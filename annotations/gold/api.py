"""Routes of gold: make and withdraw it, freeze, versions, splits, changes between versions, statistics."""

import uuid
from collections.abc import Sequence
from datetime import datetime
from typing import Any, Self

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.utils.translation import gettext as _
from ninja import Field, Query, Router, Schema
from ninja.responses import Status

from annotations.core.access import Can, closed_to, sets_for
from annotations.core.api.etags import matched
from annotations.core.api.paging import Page, PageAnswer, Paging, paged, paged_rows
from annotations.core.api.problems import Problem, check, named
from annotations.core.api.requests import ApiRequest, enter
from annotations.core.api.schemas import Answer, Body, Username
from annotations.gold import selectors
from annotations.gold.forms import READY_MADE, FreezeForm, ReadyMadeForm, SplitForm
from annotations.gold.jobs import start_gold, start_statistics
from annotations.gold.services.differences import GoldChanges, version_diff
from annotations.gold.services.making import freeze, make_gold, withdraw_gold
from annotations.gold.services.splitting import patients_in_two_splits, split_by_lines, split_table, split_version
from annotations.gold.services.statistics import kept_statistics, statistics_of, table_of, takes_long
from annotations.jobs.api import JobItem, started
from annotations.models import AnnotationSet, Document, GoldVersion
from annotations.text.names import MAX_ID

router = Router(tags=["Gold"])
GOLD = "/projects/{slug:slug}/gold"
VERSION = f"{GOLD}/versions/{{int:version}}"
NOTE = "/projects/{slug:slug}/notes/{int:note}/gold"


class GoldNow(Answer):
    """The gold as it is now. `changed`: freezing would make a new version."""

    notes: int
    spans: int
    in_review: int
    disputed: int = Field(validation_alias="disputed.count")
    changed: bool
    sources: list[selectors.GoldCandidate]


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


@router.get(GOLD, response=GoldNow)
def read_gold(request: ApiRequest, slug: str) -> selectors.GoldState:
    """Count the gold, and list the authors that it can be made from."""
    access = enter(request, slug, Can.READ_NOTES)
    return selectors.state_for(access, selectors.version_rows(access.project).first())


@router.post(f"{GOLD}/make", response={202: JobItem})
def make_gold_of_author(request: ApiRequest, response: HttpResponse, slug: str, body: BulkGold) -> Status[JobItem]:
    """Make all submitted annotation sets of an author gold, in notes without gold. This is a job."""
    access = enter(request, slug, Can.MAKE_GOLD)
    if closed_to(access, authors=[body.author]):
        raise PermissionDenied("This person may not use these annotation sets.")
    with named({"author": "author"}):
        job = start_gold(
            project=access.project, author_id=body.author, actor=access.user, token=uuid.uuid4().hex
        )  # fmt: skip
    return started(response, slug, job)


@router.get(NOTE, response=GoldOfNote)
def read_gold_of_note(request: ApiRequest, response: HttpResponse, slug: str, note: int) -> GoldOfNote:
    """Read whether a note has gold. Its spans are those of the annotation set."""
    access = enter(request, slug, Can.READ_NOTES)
    return _gold_shown(response, selectors.note_for_gold(access, note))


@router.post(NOTE, response=GoldOfNote)
def make_gold_of_note(request: ApiRequest, response: HttpResponse, slug: str, note: int, body: NewGold) -> GoldOfNote:
    """Make a submitted annotation set gold. Gold with the same spans stays as it is."""
    access = enter(request, slug, Can.MAKE_GOLD)
    document = selectors.note_for_gold(access, note)
    chosen = sets_for(access).filter(document=document, pk=body.set).select_related("author").first()
    if chosen is None:
        raise Http404("This note has no such annotation set.")
    if chosen.version != body.version:
        raise Problem(409, "changed", _("These annotations changed after you read them. Nothing was done."))
    if body.replace and (gold := selectors.gold_of(document)) is not None:
        matched(request, _etag(gold))
    make_gold(document=document, annotation_set=chosen, actor=access.user, replace=body.replace)
    return _gold_shown(response, document)


@router.delete(NOTE, response={204: None})
def withdraw_gold_of_note(request: ApiRequest, slug: str, note: int) -> Status[None]:
    """Remove the gold of a note. Frozen versions keep their copy."""
    access = enter(request, slug, Can.MAKE_GOLD)
    document = selectors.note_for_gold(access, note)
    if (gold := selectors.gold_of(document)) is None:
        raise Http404("This note has no gold.")
    matched(request, _etag(gold))
    withdraw_gold(document=document, actor=access.user)
    return Status(204, None)


@router.get(f"{GOLD}/versions", response=Page[VersionItem])
def list_gold_versions(request: ApiRequest, slug: str, paging: Query[Paging]) -> PageAnswer:
    """List the frozen versions of the gold, the newest first."""
    access = enter(request, slug, Can.READ_NOTES)
    rows = selectors.version_rows(access.project)
    return paged_rows(request, paging, rows, VersionItem.model_validate, newest_first=True, by="number")


@router.post(f"{GOLD}/versions", response={200: VersionItem, 201: VersionItem})
def freeze_gold_version(request: ApiRequest, slug: str, body: NewVersion) -> Status[GoldVersion]:
    """Freeze the gold as its next version. Without a change since, the last version is returned (200)."""
    access = enter(request, slug, Can.MAKE_GOLD)
    wanted = check(FreezeForm(body.dict()))
    version, made = freeze(project=access.project, actor=access.user, reason=wanted["reason"])
    return Status(201 if made else 200, version)


@router.get(VERSION, response=VersionDetail)
def read_gold_version(request: ApiRequest, slug: str, version: int) -> VersionDetail:
    """Read a frozen version with its split."""
    return VersionDetail.of_version(selectors.version_for(enter(request, slug, Can.READ_NOTES).project, version))


@router.get(f"{VERSION}/notes", response=Page[VersionNoteItem])
def list_version_notes(request: ApiRequest, slug: str, version: int, paging: Query[Paging]) -> PageAnswer:
    """List the notes of a frozen version."""
    found = selectors.version_for(enter(request, slug, Can.READ_NOTES).project, version)

    def fetch(after: int | None, size: int) -> Sequence[selectors.VersionNote]:
        return selectors.version_page(found, after=after, before=None, size=size).rows

    return paged(request, paging, fetch, VersionNoteItem.model_validate, lambda row: row.pk)


@router.post(f"{VERSION}/split", response=VersionDetail)
def split_gold_version(request: ApiRequest, slug: str, version: int, body: NewSplit) -> VersionDetail:
    """Split a version into train, dev and test by patient. The same request again changes nothing."""
    access = enter(request, slug, Can.MAKE_GOLD)
    found = selectors.version_for(access.project, version)
    with named({"seed": "seed", "shares": "train", "from": "lines"}):
        if body.lines:
            ready = check(ReadyMadeForm({"lines": body.lines, "seed": body.seed or READY_MADE}))
            split_by_lines(version=found, lines=ready["lines"], seed=ready["seed"], actor=access.user)
        else:
            check(form := SplitForm(body.dict()))
            split_version(version=found, seed=form.cleaned_data["seed"], shares=form.shares, actor=access.user)
    return VersionDetail.of_version(selectors.version_for(access.project, version))


@router.get(f"{VERSION}/changes", response=GoldChanges)
def list_gold_changes(request: ApiRequest, slug: str, version: int, wanted: Query[ChangesQuery]) -> GoldChanges:
    """List what changed since another version, by default since the one before; at most 50,000 changes of spans."""
    access = enter(request, slug, Can.READ_NOTES)
    found = selectors.version_for(access.project, version)
    before = selectors.version_for(access.project, version - 1 if wanted.since is None else wanted.since)
    return version_diff(before, found)


@router.get(f"{VERSION}/statistics", response=dict[str, Any])
def read_statistics(request: ApiRequest, slug: str, version: int) -> dict[str, Any]:
    """Count notes, tokens and spans by split, label and category. A large version needs a job first (409)."""
    access = enter(request, slug, Can.READ_NOTES)
    found = selectors.version_for(access.project, version)
    parts = kept_statistics(found)
    if parts is None and takes_long(found):
        raise Problem(409, "not-counted", _("This version is large. Start the job that counts it, then read again."))
    return table_of(found, statistics_of(found) if parts is None else parts)


@router.post(f"{VERSION}/statistics", response={202: JobItem})
def start_gold_statistics(request: ApiRequest, response: HttpResponse, slug: str, version: int) -> Status[JobItem]:
    """Start the job that counts a version."""
    access = enter(request, slug, Can.READ_NOTES)
    job = start_statistics(
        version=selectors.version_for(access.project, version), actor=access.user, token=uuid.uuid4().hex
    )
    return started(response, slug, job)


def _etag(gold: AnnotationSet) -> str:
    return f'"gold-{gold.pk}-{gold.version}"'


def _gold_shown(response: HttpResponse, note: Document) -> GoldOfNote:
    gold = selectors.gold_of(note)
    if gold is None:
        raise Http404("This note has no gold.")
    response["ETag"] = _etag(gold)
    return GoldOfNote(set=gold.pk, state=gold.state, version=gold.version, spans=gold.spans.count())
