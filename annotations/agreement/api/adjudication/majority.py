"""Routes of majority votes over many notes: preview, start, list, read, undo."""

from dataclasses import asdict
from datetime import datetime
from typing import Final, Self
from uuid import UUID, uuid4

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Router, Schema
from ninja.responses import Status

from annotations.agreement.api.comparing import compare
from annotations.agreement.selectors.adjudication.majority import preview
from annotations.agreement.services.adjudication.starting import start_majority, start_undo
from annotations.core.access import Access, Can
from annotations.core.api.requests import ApiRequest, enter
from annotations.jobs.api import JobItem, started
from annotations.jobs.services.batch_acts import job_of
from annotations.models import MajorityAct

router = Router(tags=["Adjudication"])
PATH: Final = "/projects/{slug:slug}/majority-votes"
ONE: Final = f"{PATH}/{{uuid:vote}}"
RECENT: Final = 20


class MajorityPreview(Schema):
    """What a vote would do. `whole` notes would become gold; `tied` ones have `ties` locations without a majority.

    The others are skipped: they have gold, an open review or an adjudication, or wait for an annotator.
    """

    whole: int
    tied: int
    ties: int
    has_gold: int
    in_review: int
    begun: int
    pending: int


class MajorityVote(Schema):
    """A majority vote. `state`: working, done, undoing or undone. `job` is its job, or that of its undo.

    Of the `planned` notes, `gold` became gold, with `spans`; `left` were changed before their turn. An undo leaves the
    `kept` notes alone, which were changed since.
    """

    id: UUID
    state: str
    by: str
    created_at: datetime
    ended_at: datetime | None
    planned: int
    gold: int
    spans: int
    tied: int
    ties: int
    has_gold: int
    in_review: int
    begun: int
    pending: int
    left: int
    undone: int
    kept: int
    job: int | None

    @classmethod
    def of(cls, act: MajorityAct) -> Self:
        job = job_of(act, "majority_undo") or job_of(act, "majority")
        counts = {name: getattr(act, name) for name in cls.model_fields if name not in ("by", "job")}
        return cls(**counts, by=act.user.username, job=job.number if job else None)


@router.get(f"{PATH}/preview", response=MajorityPreview)
def preview_majority_vote(request: ApiRequest, slug: str) -> MajorityPreview:
    """Count what a majority vote would decide."""
    access = enter(request, slug, Can.MAKE_GOLD)
    compare(access.project)
    return MajorityPreview(**asdict(preview(access.project)))


@router.get(PATH, response=list[MajorityVote])
def list_majority_votes(request: ApiRequest, slug: str) -> list[MajorityVote]:
    """List the latest 20 majority votes, the newest first."""
    access = enter(request, slug, Can.MAKE_GOLD)
    rows = MajorityAct.objects.filter(project=access.project).select_related("user")
    return [MajorityVote.of(row) for row in rows[:RECENT]]


@router.post(PATH, response={202: JobItem})
def start_majority_vote(request: ApiRequest, response: HttpResponse, slug: str) -> Status[JobItem]:
    """Make the majority of the annotators gold in all notes that several annotators have submitted."""
    access = enter(request, slug, Can.MAKE_GOLD)
    compare(access.project)
    return started(response, slug, start_majority(project=access.project, user=access.user, key=str(uuid4())))


@router.get(ONE, response=MajorityVote)
def read_majority_vote(request: ApiRequest, slug: str, vote: UUID) -> MajorityVote:
    """Read a majority vote."""
    return MajorityVote.of(_vote(enter(request, slug, Can.MAKE_GOLD), vote))


@router.post(f"{ONE}/undo", response={202: JobItem})
def undo_majority_vote(request: ApiRequest, response: HttpResponse, slug: str, vote: UUID) -> Status[JobItem]:
    """Undo a majority vote. Notes that somebody changed since stay as they are."""
    access = enter(request, slug, Can.MAKE_GOLD)
    return started(response, slug, start_undo(act=_vote(access, vote), user=access.user))


def _vote(access: Access, pk: UUID) -> MajorityAct:
    return get_object_or_404(MajorityAct.objects.select_related("user", "project"), project=access.project, pk=pk)
