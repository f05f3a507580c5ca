"""Routes of releases: list, preview, start, read, prepare again, export, withdraw."""

import uuid
from datetime import date, datetime
from typing import Annotated, Any

from django.utils.translation import gettext as _
from ninja import Field, Query, Schema

from annotations.core.access import Access, Can
from annotations.core.api import routes
from annotations.core.api.paging import Page, PageAnswer, Paging, paged_rows
from annotations.core.api.routes import Answer, ApiRequest, Body, JobNumber, Username, check, invalid, named, read_as
from annotations.exchange.api.exports import FIELDS, FileItem, OtherCodes
from annotations.exchange.forms.exports import set_choices
from annotations.jobs.api import JobItem
from annotations.models import Job, Release, ReleasePolicy
from annotations.release.forms.policies import offered_policies
from annotations.release.forms.releases import REFUSED_AT, ReleaseForm, about_formats
from annotations.release.rules.redaction.policy import IdentifierType
from annotations.release.selectors import releases as selectors
from annotations.release.services.exporting import start_release_export, withdraw
from annotations.release.services.policies import labels_without_kind, parsed_policy
from annotations.release.services.previewing import PlacedPreview, preview_placed
from annotations.release.services.sources import specs_of, union_of
from annotations.release.services.starting import outdated, prepare_again, start_chosen
from annotations.release.services.steps import state_of, steps_of
from annotations.release.services.surrogates.makers import maker_choices
from annotations.text.names import MAX_ID

router = routes.ProjectRouter(tags=["Releases"])
PATH = "/projects/{slug:slug}/releases"
ONE = f"{PATH}/{{int:release}}"


class ReleaseItem(Answer):
    """A release. `state` is preparing, prepared, signed or withdrawn; `job` prepares its notes.

    `policy` is its short name and version. `content_hash` is the SHA-256 of names, texts and spans of its notes; it is
    empty until the release is prepared.
    """

    number: int
    state: str
    sets: Annotated[list[str], read_as(str, specs_of)] = Field(validation_alias="set_spec")
    searched_runs: list[str]
    keep_names: bool
    policy: Annotated[str, read_as(ReleasePolicy, lambda policy: f"{policy.slug}:{policy.version}")]
    purpose: str
    recipient: str
    expires_on: date | None
    notes: int = Field(validation_alias="note_count")
    spans: int = Field(validation_alias="span_count")
    erased: int = Field(validation_alias="erased_count")
    open_findings: int
    content_hash: str
    job: JobNumber
    created_by: Username
    created_at: datetime
    signed_by: Username
    signed_at: datetime | None


class StepItem(Schema):
    """A step on the way to an exported release."""

    title: str
    text: str
    done: bool
    optional: bool


class ReleaseDetail(ReleaseItem):
    """A release with its counts. `outdated`: somebody has edited the surrogates since, so prepare it again.

    `notes_by_state` counts pending, done and held; `findings` counts found, replaced, allowed and open; `figures` are
    the stored counts and measures; `files` are exports that can be downloaded.
    """

    outdated: bool
    notes_by_state: dict[str, int]
    findings: dict[str, int]
    figures: dict[str, Any]
    steps: list[StepItem]
    files: list[FileItem]


class ReleaseChoices(Schema):
    """What a new release can use: annotation sets, policies, and makers of surrogates besides the rules.

    `labels_without_kind`: codes of labels of which nobody has said what identifier they are. A release masks them,
    unless its `kinds` say it.
    """

    sets: list[str]
    policies: list[str]
    makers: list[str]
    formats: list[str]
    labels_without_kind: list[str]


class NewRelease(Body):
    """What to release. `policy` is a short name (the newest version) or name and version, as in `mask:2`.

    `maker` is a language model that makes surrogates, by default rules do. `may_leave`: the notes may be sent to the
    model's machine. The leak gate also looks for what `searched_runs` suggested (specifications such as run:rules-1).
    `keep_names`: the released notes keep the names of the notes; by default they get neutral ones. `kinds`: the kind of
    identifier of each label that has none yet, by code; the policy remembers it. Without it the label is masked.
    """

    sets: list[str] = Field(min_length=1, max_length=50)
    policy: str = Field(max_length=60)
    maker: str = Field("", max_length=200)
    may_leave: bool = False
    searched_runs: list[str] = Field([], max_length=50)
    keep_names: bool = False
    purpose: str = ""
    recipient: str = ""
    expires_on: date | None = None
    kinds: dict[str, IdentifierType] = Field({}, max_length=500)


class ReleasedPiece(Schema):
    """A stretch of the original, what replaced it in the released text, its label and what was done.

    Offsets are code points, end-exclusive.
    """

    start: int
    end: int
    new_start: int
    new_end: int
    label: str
    action: str


class PreviewQuery(Schema):
    """`set` may occur several times; by default, it is the first one. `note` is the id of the note to show."""

    set: list[str] = Field([], max_length=50)
    policy: str = Field("mask", max_length=60)
    note: int = Field(0, ge=0, le=MAX_ID)


class PreviewLeak(Schema):
    """A finding of the leak gate in the released text, in code points, end-exclusive."""

    start: int
    end: int


class ReleasePreview(Answer):
    """A note as the release would have it. `position` counts from 1 among the `total` notes of the release."""

    note: int = Field(validation_alias="note.pk")
    name: str = Field(validation_alias="note.name")
    text: str = Field(validation_alias="preview.text")
    released: str = Field(validation_alias="preview.released.text")
    pieces: list[ReleasedPiece] = Field(validation_alias="preview.released.pieces")
    leaks: list[PreviewLeak] = Field(validation_alias="preview.leaks")
    previous: int | None
    next: int | None = Field(validation_alias="following")
    position: int
    total: int


class ReleaseExport(OtherCodes):
    """The format of the files. `leave_out`: without the notes that have open findings, which are otherwise refused.

    The text itself stays as the policy wrote it, whatever the codes of labels are.
    """

    format: str
    leave_out: bool = False


Named = Annotated[Release, selectors.release_for]


@router.get(PATH, Can.RELEASE, response=Page[ReleaseItem])
def list_releases(request: ApiRequest, access: Access, paging: Query[Paging]) -> PageAnswer:
    """List the releases of a project, the newest first."""
    rows = selectors.releases_of(access.project)
    return paged_rows(request, paging, rows, ReleaseItem.model_validate, newest_first=True, by="number")


@router.get(f"{PATH}/choices", Can.RELEASE, response=ReleaseChoices)
def release_choices(access: Access) -> ReleaseChoices:
    """List what a new release can use, and the formats of exports."""
    return ReleaseChoices(
        sets=[choice.spec for choice in set_choices(access.project, without=access.closed_kinds)],
        policies=[one.row.slug for one in offered_policies(access.project)],
        makers=[one.value for one in maker_choices()],
        formats=list(about_formats()),
        labels_without_kind=[label.code for label in labels_without_kind(access.project)],
    )


@router.get(f"{PATH}/preview", Can.RELEASE, response=ReleasePreview)
def preview_release(access: Access, wanted: Query[PreviewQuery]) -> PlacedPreview:
    """Show a note as a release would have it. Nothing is stored but that the note was read."""
    offered = offered_policies(access.project)
    policy = next((one for one in offered if wanted.policy in (one.value, one.row.slug)), None)
    if policy is None:
        known = ", ".join(one.row.slug for one in offered)
        raise invalid(("policy", _("There is no such policy. Choose one of: %(known)s.") % {"known": known}))
    specs = wanted.set or [one.spec for one in set_choices(access.project, without=access.closed_kinds)[:1]]
    if not specs:
        raise invalid(("set", _("The project has no annotations yet.")))
    with named({"set": "set", "version": "set", "empty": "set", "unmapped": "policy", "policy": "policy"}):
        return preview_placed(
            project=access.project, set_spec=union_of(specs), policy=policy.row, actor=access.user, wanted=wanted.note
        )


@router.post(PATH, Can.RELEASE, response={202: ReleaseItem})
def new_release(access: Access, body: NewRelease) -> Release:
    """Start a release. Its job prepares the notes and looks for leaks; it can be paused and resumed."""
    form = ReleaseForm(
        body.dict() | {"token": uuid.uuid4()},
        sets=set_choices(access.project, without=access.closed_kinds),
        policies=[body.policy],
        makers=maker_choices(),
    )
    check(form)
    with named({**REFUSED_AT, "maker": "maker", "long": "purpose", "kinds": "kinds"}):
        policy = parsed_policy(form.cleaned_data["policy"])
        return start_chosen(project=access.project, policy=policy, actor=access.user, kinds=body.kinds, **form.chosen())


@router.get(ONE, Can.RELEASE, response=ReleaseDetail)
def read_release(access: Access, release: Named) -> ReleaseDetail:
    """Read a release with its counts, its steps and its files."""
    return _detail(access, release)


@router.post(f"{ONE}/prepare", Can.RELEASE, response={202: ReleaseItem})
def prepare_release(access: Access, release: Named) -> Release:
    """Prepare a release again whose surrogates were edited. Otherwise nothing changes."""
    return prepare_again(release=release, actor=access.user)


@router.post(f"{ONE}/withdraw", Can.RELEASE, response=ReleaseDetail)
def withdraw_release(access: Access, release: Named) -> ReleaseDetail:
    """Withdraw a release, so that it is exported no more. What recipients have remains with them."""
    return _detail(access, withdraw(release=release, actor=access.user))


@router.post(f"{ONE}/export", Can.RELEASE, response={202: JobItem})
def export_release(access: Access, release: Named, body: ReleaseExport) -> Job:
    """Export a release. The job's result has the id of the file to download."""
    labels = body.chosen(access.project)
    with named(FIELDS):
        return start_release_export(
            release=release, format=body.format, actor=access.user, leave_out=body.leave_out, labels=labels
        )


def _detail(access: Access, release: Release) -> ReleaseDetail:
    item = ReleaseItem.model_validate(release)
    steps = list(map(StepItem.model_validate, steps_of(release, state_of(access, release), release.open_findings)))
    return ReleaseDetail.model_construct(
        **dict(item), outdated=outdated(release), notes_by_state=selectors.note_counts(release),
        findings=selectors.leak_counts(release), figures=release.figures, steps=steps,
        files=[FileItem.from_orm(one) for one in selectors.ready_exports(release)],
    )  # fmt: skip
