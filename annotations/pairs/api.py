"""Routes of pairs of clear and published decisions."""

from datetime import datetime
from typing import Any

from ninja import Field, File, Form, Query, Schema, UploadedFile

from annotations.core.access import Access, Can
from annotations.core.api.paging import Page, PageAnswer, Paging, paged_rows
from annotations.core.api.routes import Answer, ApiRequest, Body, ProjectRouter, Username, check, named
from annotations.core.requests import takes_uploads
from annotations.jobs.api import JobItem
from annotations.models import Job, PairCandidate
from annotations.pairs import selectors
from annotations.pairs.forms import PileForm
from annotations.pairs.rules.alignment import WINDOW, AlignmentMethod
from annotations.pairs.selectors import PairStatistics
from annotations.pairs.services.settling import settle, undo_settlement
from annotations.pairs.services.starting import start_pairing
from annotations.text.names import MAX_ID

router = ProjectRouter(tags=["Pairs"])
PATH = "/projects/{slug:slug}/pairs"
ONE = f"{PATH}/{{int:published}}"


class PairingOptions(Schema):
    """How decisions are paired: the method (diff or window), the window in tokens, and the least similarity."""

    method: str = AlignmentMethod.DIFF
    window: int = WINDOW
    threshold: float = 0.95


class DecisionItem(Answer):
    """A published decision. `note` is the clear note, and `aligned` the share of its tokens that matched, if paired.

    `state`: new, none, ambiguous or paired. `spans` counts the hidden spans.
    """

    id: int
    name: str
    number: str
    office: str
    state: str
    note: int | None = Field(validation_alias="document_id")
    author: int | None = Field(validation_alias="author_id")
    method: str
    parameters: dict[str, Any]
    aligned: float | None
    spans: int = Field(validation_alias="begin")
    settled_by: Username
    settled_at: datetime | None


class CandidateItem(Answer):
    """A note that may belong to a published decision. `fits`: number and office are the same, too."""

    note: int = Field(validation_alias="document_id")
    similarity: float
    fits: bool


class SettledNote(Body):
    """The note that belongs to the published decision; null: none. `undo`: ask again; the note then doesn't count."""

    note: int | None = Field(ge=1, le=MAX_ID)
    undo: bool = False


class StateFilter(Schema):
    """`state`: flagged, none, ambiguous or paired."""

    state: str = ""


@router.post(PATH, Can.MANAGE, response={202: JobItem})
@takes_uploads(Can.MANAGE)
def pair_decisions(request: ApiRequest, access: Access, options: Form[PairingOptions], file: File[UploadedFile]) -> Job:
    """Upload a pile of clear and published decisions, and start the job that pairs them."""
    form = PileForm(options.dict(), request.FILES)
    check(form)
    with named({"pile": "file", "zip": "file"}):
        return start_pairing(project=access.project, actor=access.user, **form.chosen)


@router.get(PATH, Can.MANAGE, response=Page[DecisionItem])
def list_pairs(request: ApiRequest, access: Access, wanted: Query[StateFilter], paging: Query[Paging]) -> PageAnswer:
    """List the published decisions with what became of them."""
    rows = selectors.decisions(access.project, selectors.state_of(wanted.state))
    return paged_rows(request, paging, rows.order_by("pk"), DecisionItem.from_orm)


@router.get(f"{PATH}/statistics", Can.MANAGE, response=PairStatistics)
def read_pair_statistics(access: Access) -> PairStatistics:
    """Count decisions by state, and tokens of the clear notes by BIO tag."""
    return selectors.statistics(access.project)


@router.get(f"{ONE}/candidates", Can.MANAGE, response=list[CandidateItem])
def list_pair_candidates(access: Access, published: int) -> list[PairCandidate]:
    """List the notes that may belong to a published decision."""
    return list(selectors.decision_of(access, published).candidates.all())


@router.post(f"{ONE}/settle", Can.MANAGE, response=DecisionItem)
def settle_pair(access: Access, published: int, body: SettledNote) -> Any:
    """Settle which of the candidates belongs to a published decision, or undo what a person settled."""
    found = selectors.decision_of(access, published)
    if body.undo:
        return undo_settlement(published=found, actor=access.user)
    with named({"candidate": "note"}):
        return settle(published=found, note=body.note, actor=access.user)
