"""The API's batches of review decisions."""

from ninja import Field

from annotations.core.access import Access, Can
from annotations.core.api.routes import ApiRequest, Body, ProjectRouter, RefusedDecision
from annotations.core.batches import MOST_CHANGES
from annotations.review.api.reviewing import NOTE, NewReviewDecision, ReviewOut, shown, wanted
from annotations.review.selectors.reviewing import review_for
from annotations.review.services.deciding import decide_many

router = ProjectRouter(tags=["Review"])


class NewReviewDecisions(Body):
    """Decisions in their order."""

    decisions: list[NewReviewDecision] = Field(min_length=1, max_length=MOST_CHANGES)


class DecidedBatch(ReviewOut):
    """The review afterwards, and the decisions that were refused; the others are made."""

    refused: list[RefusedDecision]


@router.post(f"{NOTE}/decisions/batch", Can.MAKE_GOLD, response=DecidedBatch)
def decide_suggestions(
    request: ApiRequest, access: Access, run_author: int, note: int, body: NewReviewDecisions
) -> DecidedBatch:
    """Make many decisions in one transaction. Each can be refused on its own."""
    run, document = review_for(access, run_author, note)
    requests = {place: wanted(access, run, document, each) for place, each in enumerate(body.decisions)}
    done = decide_many(document=document, author=run, user=access.user, requests=requests)
    return DecidedBatch(**shown(access, done.state).dict(), refused=RefusedDecision.all(done.errors))
