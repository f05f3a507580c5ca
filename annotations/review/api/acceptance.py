"""Routes of what reviews show: precision of suggestions, agreement of reviewers, planted leaks, the decision log."""

from dataclasses import asdict
from typing import Any, Literal, Self

from django.http import StreamingHttpResponse
from ninja import Field, Query, Schema

from annotations.core.access import Access, Can
from annotations.core.answers import streamed
from annotations.core.api.mount import sends
from annotations.core.api.routes import Answer, Body, ProjectRouter, RefusedDecision
from annotations.core.batches import MOST_CHANGES
from annotations.notes.api import codes_of
from annotations.review.api.bulk import Chosen
from annotations.review.api.reviewing import NOTE, NewReviewDecision, ReviewOut, shown, wanted
from annotations.review.rules.planting import RemainingEstimate
from annotations.review.rules.precision import BANDS
from annotations.review.selectors.decision_log import TYPES, OverruledCounts, export_decisions, overruled
from annotations.review.selectors.planted import PlantedFigures, planting_for
from annotations.review.selectors.precision import AcceptanceRate, acceptance_by, drawn_of, suggestions_by
from annotations.review.selectors.reviewing import Pair, chosen_runs, pairs, review_for
from annotations.review.services.deciding import decide_many

router = ProjectRouter(tags=["Review"])


class AcceptedOut(Schema):
    """Decisions made one by one on a group of suggestions, of which `right` were accepted as suggested.

    `bulk` decisions were made by bulk acts. Groups: a label; a run and source; a band of confidences (`least`
    inclusive, null without confidence).
    """

    label: str | None = None
    run: str | None = None
    source: str | None = None
    least: float | None = None
    decided: int
    right: int
    corrected: int
    rejected: int
    bulk: int

    @classmethod
    def of(cls, row: AcceptanceRate, **group: Any) -> Self:
        return cls(**asdict(row) | {"rejected": row.rejected} | group)


class EstimateOut(Schema):
    """A share from 0 to 1 with its 95% interval."""

    share: float | None
    low: float
    high: float
    counted: int


class DrawnOut(Answer):
    """Precision and recall of a run, estimated on `notes` finished notes that were drawn at random."""

    run: str = Field(validation_alias="run.name")
    notes: int
    precision: EstimateOut = Field(validation_alias="right")
    recall: EstimateOut = Field(validation_alias="found")


class PlantedOut(Schema):
    """Planted leaks that reviewers found and missed: `all`, and by reviewer for managers, else only one's own."""

    all: dict[str, Any]
    reviewers: list[dict[str, Any]]
    notes: int
    found_by_hand: int
    left: RemainingEstimate | None

    @classmethod
    def of(cls, found: PlantedFigures) -> Self:
        reviewers = [{"reviewer": one.reviewer} | one.figures() for one in found.rows]
        known = found.unsuggested
        return cls(
            all=found.whole.figures(), reviewers=reviewers, notes=known.notes, found_by_hand=known.by_hand,
            left=known.left,
        )  # fmt: skip


class Acceptance(Schema):
    """What became of suggestions. Only decisions on single suggestions say whether they are right."""

    labels: list[AcceptedOut]
    sources: list[AcceptedOut]
    confidences: list[AcceptedOut]
    drawn: list[DrawnOut]
    overruled: list[OverruledCounts]
    pairs: list[Pair]
    planted: PlantedOut | None


@router.get("/projects/{slug:slug}/acceptance", Can.READ_NOTES, response=Acceptance)
def read_acceptance(access: Access, wanted: Query[Chosen]) -> Acceptance:
    """Read how many suggestions were accepted, how far reviewers agree, and how many planted leaks they missed."""
    chosen = chosen_runs(access.project, wanted.words, merged=True)
    runs = [run.pk for run in chosen]
    spans, codes = suggestions_by(access.project, runs), codes_of(access.project.pk)
    by_source = acceptance_by(spans, "annotation_set__author__name", "source")
    by_band = sorted(acceptance_by(spans, "band"), key=lambda row: row.key)
    planting = planting_for(access, runs)
    return Acceptance(
        labels=[AcceptedOut.of(row, label=codes.get(row.key[0])) for row in acceptance_by(spans, "label_id")],
        sources=[AcceptedOut.of(row, run=row.key[0], source=row.key[1]) for row in by_source],
        confidences=[AcceptedOut.of(row, least=BANDS[row.key[0]][0] if row.key[0] >= 0 else None) for row in by_band],
        drawn=[DrawnOut.model_validate(one) for one in drawn_of(chosen)],
        overruled=overruled(access.project),
        pairs=pairs(access.project, chosen),
        planted=PlantedOut.of(planting) if planting.measured else None,
    )


@router.get("/projects/{slug:slug}/decisions", Can.EXPORT, openapi_extra=sends(*TYPES.values()))
def export_decision_log(access: Access, format: Literal["csv", "jsonl"] = "csv") -> StreamingHttpResponse:
    """Download the decision log as CSV or JSON Lines. The audit log records it."""
    lines, name = export_decisions(project=access.project, actor=access.user, format=format)
    return streamed(lines, TYPES[format], name)


# The API's batches of review decisions.


class NewReviewDecisions(Body):
    """Decisions in their order."""

    decisions: list[NewReviewDecision] = Field(min_length=1, max_length=MOST_CHANGES)


class DecidedBatch(ReviewOut):
    """The review afterwards, and the decisions that were refused; the others are made."""

    refused: list[RefusedDecision]


@router.post(f"{NOTE}/decisions/batch", Can.MAKE_GOLD, response=DecidedBatch)
def decide_suggestions(access: Access, run_author: int, note: int, body: NewReviewDecisions) -> DecidedBatch:
    """Make many decisions in one transaction. Each can be refused on its own."""
    run, document = review_for(access, run_author, note)
    requests = {place: wanted(access, run, document, each) for place, each in enumerate(body.decisions)}
    done = decide_many(document=document, author=run, user=access.user, requests=requests)
    return DecidedBatch(**shown(access, done.state).dict(), refused=RefusedDecision.all(done.errors))
