"""Routes of what reviews show: precision of suggestions, agreement of reviewers, planted leaks, the decision log."""

from typing import Any, Literal, Self

from django.http import StreamingHttpResponse
from ninja import Query, Router, Schema

from annotations.core.access import Access, Can
from annotations.core.answers import streamed
from annotations.core.api.mount import sends
from annotations.core.api.requests import ApiRequest, enter
from annotations.notes.api import codes_of
from annotations.review.api.bulk_schemas import Chosen
from annotations.review.rules.precision import BANDS, Estimate
from annotations.review.selectors.decision_log import TYPES, overruled
from annotations.review.selectors.drawn import drawn_of
from annotations.review.selectors.handovers import Pair, pairs
from annotations.review.selectors.leaks_found import figures_of, planting_for
from annotations.review.selectors.precision import Accepted, acceptance_by, suggestions_by
from annotations.review.selectors.reviewing import chosen_runs
from annotations.review.services.exporting import export_decisions

router = Router(tags=["Review"])


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
    def of(cls, row: Accepted, **group: Any) -> Self:
        return cls(
            decided=row.rate.decided, right=row.rate.right, corrected=row.corrected, rejected=row.rejected,
            bulk=row.bulk, **group,
        )  # fmt: skip


class EstimateOut(Schema):
    """A share from 0 to 1 with its 95% interval."""

    share: float | None
    low: float
    high: float
    counted: int

    @classmethod
    def of(cls, one: Estimate) -> Self:
        return cls(share=one.share, low=one.low, high=one.high, counted=one.counted)


class DrawnOut(Schema):
    """Precision and recall of a run, estimated on `notes` finished notes that were drawn at random."""

    run: str
    notes: int
    precision: EstimateOut
    recall: EstimateOut


class OverruledOut(Schema):
    """How often `reviewer` decided after `earlier`, and how often otherwise (`changed`)."""

    reviewer: str
    earlier: str
    decisions: int
    changed: int


class PairOut(Schema):
    """Agreement of two reviewers on the same notes: `equal` of `compared` items."""

    first: str
    second: str
    blind: bool
    notes: int
    equal: int
    compared: int

    @classmethod
    def of(cls, one: Pair) -> Self:
        return cls(
            first=one.first, second=one.second, blind=one.blind, notes=one.notes, equal=one.rate.right,
            compared=one.rate.decided,
        )  # fmt: skip


class PlantedOut(Schema):
    """Planted leaks that reviewers found and missed: `all`, and by reviewer for managers, else only one's own."""

    all: dict[str, Any]
    reviewers: list[dict[str, Any]]
    notes: int
    found_by_hand: int
    left: dict[str, float] | None


class Acceptance(Schema):
    """What became of suggestions. Only decisions on single suggestions say whether they are right."""

    labels: list[AcceptedOut]
    sources: list[AcceptedOut]
    confidences: list[AcceptedOut]
    drawn: list[DrawnOut]
    overruled: list[OverruledOut]
    pairs: list[PairOut]
    planted: PlantedOut | None


@router.get("/projects/{slug:slug}/acceptance", response=Acceptance)
def read_acceptance(request: ApiRequest, slug: str, wanted: Query[Chosen]) -> Acceptance:
    """Read how many suggestions were accepted, how far reviewers agree, and how many planted leaks they missed."""
    access = enter(request, slug, Can.READ_NOTES)
    chosen = chosen_runs(access.project, wanted.words, merged=True)
    runs = [run.pk for run in chosen]
    spans, codes = suggestions_by(access.project, runs), codes_of(access.project.pk)
    by_source = acceptance_by(spans, "annotation_set__author__name", "source")
    by_band = sorted(acceptance_by(spans, "band"), key=lambda row: row.key)
    return Acceptance(
        labels=[AcceptedOut.of(row, label=codes.get(row.key[0])) for row in acceptance_by(spans, "label_id")],
        sources=[AcceptedOut.of(row, run=row.key[0], source=row.key[1]) for row in by_source],
        confidences=[AcceptedOut.of(row, least=BANDS[row.key[0]][0] if row.key[0] >= 0 else None) for row in by_band],
        drawn=[
            DrawnOut(
                run=one.run.name, notes=one.notes, precision=EstimateOut.of(one.right), recall=EstimateOut.of(one.found)
            )
            for one in drawn_of(chosen)
        ],
        overruled=[
            OverruledOut(reviewer=by, earlier=over, decisions=count, changed=changed)
            for by, over, count, changed in overruled(access.project)
        ],
        pairs=[PairOut.of(one) for one in pairs(access.project, chosen)],
        planted=_planted(access, runs),
    )


def _planted(access: Access, runs: list[int]) -> PlantedOut | None:
    found = planting_for(access, runs)
    if found["unsuggested"] is None:
        return None
    left = found["unsuggested"].left
    return PlantedOut(
        all=figures_of(found["whole"]),
        reviewers=[{"reviewer": one.reviewer} | figures_of(one) for one in found["rows"]],
        notes=found["unsuggested"].notes,
        found_by_hand=found["unsuggested"].by_hand,
        left={"expected": left.expected, "least": left.least, "most": left.most} if left else None,
    )


@router.get("/projects/{slug:slug}/decisions", openapi_extra=sends(*TYPES.values()))
def export_decision_log(
    request: ApiRequest, slug: str, format: Literal["csv", "jsonl"] = "csv"
) -> StreamingHttpResponse:
    """Download the decision log as CSV or JSON Lines. The audit log records it."""
    access = enter(request, slug, Can.EXPORT)
    lines, name = export_decisions(project=access.project, actor=access.user, format=format)
    return streamed(lines, TYPES[format], name)
