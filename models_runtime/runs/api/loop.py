"""Routes of the loop: its rounds with the next step, and beginning a round."""

from typing import Any

from ninja import Router, Schema

from annotations.core.access import Can
from annotations.core.api.problems import check
from annotations.core.api.requests import ApiRequest, enter
from annotations.core.api.schemas import Body
from annotations.gold.forms import HoldOutForm
from annotations.gold.services.splitting import HOLD_OUT, begin_round
from models_runtime.runs.services.loop import loop_of
from models_runtime.runs.services.rounds import rounds

router = Router(tags=["Loop"])
PATH = "/projects/{slug:slug}/loop"


class LoopOut(Schema):
    """The loop of gold, training, running and reviewing. `next` is the next step: freeze, train, run or review.

    `left` notes are not gold yet; `held_out` notes are kept for scoring. A round has the figures of the command `loop`.
    """

    gold_notes: int
    left: int
    held_out: int | None
    next: str
    rounds: list[dict[str, Any]]


class NewRound(Body):
    """`share`: percent of the notes that the first round holds out. Later rounds hold out the same notes."""

    share: int = HOLD_OUT


class Round(Schema):
    """The gold version of the round, and whether it is new."""

    version: int
    made: bool


@router.get(PATH, response=LoopOut)
def read_loop(request: ApiRequest, slug: str) -> LoopOut:
    """Read the rounds and the next step."""
    access = enter(request, slug, Can.READ_NOTES)
    state = loop_of(access.project)
    return LoopOut(
        gold_notes=state.gold, left=state.left, held_out=state.held_out, next=str(state.next or ""),
        rounds=[each.as_dict() for each in rounds(access.project)],
    )  # fmt: skip


@router.post(f"{PATH}/rounds", response=Round)
def begin_loop_round(request: ApiRequest, slug: str, body: NewRound) -> Round:
    """Begin the next round: freeze gold and hold out notes. Without a change of gold, nothing is frozen."""
    access = enter(request, slug, Can.MAKE_GOLD)
    wanted = check(HoldOutForm(body.dict()))
    begun = begin_round(project=access.project, actor=access.user, share=wanted["share"])
    return Round(version=begun.version.number, made=begun.made)
