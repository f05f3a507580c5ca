"""What a refiner did with the annotations that it kept or changed, for review."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple, TypedDict

from annotations.core.suggestions import ProposedRemoval, removals_of
from annotations.models import AnnotationSet, Author, Decision, Document, PlantedLeak, Project, RemovalDecision, Review
from annotations.projects.selectors.labels import accepted_labels
from annotations.review.selectors.planted import hidden_in
from annotations.text.attributes import Provenance
from annotations.text.spans import LabeledBounds


class RefinedView(TypedDict):
    """What a refiner did with an annotation: `action` is keep or update; `start`, `end` and `label` are from before.

    `label` is None if the label was deleted since; `code` is the code that it had.
    """

    action: str
    start: int
    end: int
    label: int | None
    code: str
    reason: str


def refined_in(project: Project, provenances: Mapping[int, Mapping[str, Any] | None]) -> dict[int, RefinedView]:
    """The refiner's decisions by suggestion id, from the provenance of suggestions."""
    said = {pk: found["refined"] for pk, found in provenances.items() if found and "refined" in found}
    if not said:
        return {}
    accepted, ids = accepted_labels(project)
    shown: dict[int, RefinedView] = {}
    for pk, one in said.items():
        start, end, code = one["was"]
        known = accepted.get(code)
        shown[pk] = {
            "action": one["action"], "start": start, "end": end, "label": ids[known] if known else None, "code": code,
            "reason": one["reason"],
        }  # fmt: skip
    return shown


# Proposed removals in a review: what a refiner removed, with the decisions on it.
#
# Accepting a removal is, for gold, what rejecting a suggestion is, and rejecting a removal puts the annotation into
# gold. Only the verdict is stored. The gold span names the removal in its provenance, so that its bounds and its label
# are stored once, and a removal whose span leaves gold by other means is open again.


ACCEPTED = Decision.Verdict.ACCEPTED
REJECTED = Decision.Verdict.REJECTED


class RemovalView(TypedDict):
    """A proposed removal as a page shows it. `bounds` are those in gold if it was rejected, else None."""

    number: int
    start: int
    end: int
    label: int
    reason: str
    state: str
    bounds: LabeledBounds | None
    by: str | None
    at: str | None


class RemovalVerdict(NamedTuple):
    """The current decision on a proposed removal."""

    number: int
    verdict: str
    reviewer_id: int
    by: str
    at: datetime


@dataclass(frozen=True, slots=True)
class Removal:
    """A proposed removal with the annotation set of its refiner and the decision on it (None if open)."""

    proposed: ProposedRemoval
    annotation_set_id: int
    decision: RemovalVerdict | None

    @property
    def bounds(self) -> LabeledBounds:
        return self.proposed.start, self.proposed.end, self.proposed.label_id

    def made(self, provenance: Mapping[str, Any] | Provenance | None) -> bool:
        """Whether a gold span with this provenance is there because this removal was rejected."""
        found = provenance or {}
        return found.get("removal") == self.proposed.number and found.get("set") == self.annotation_set_id

    def kept(self, gold: Iterable[tuple[LabeledBounds, Provenance | None]]) -> LabeledBounds | None:
        """The bounds and label of the gold span that rejecting this removal made; else of an equal one; else None."""
        equal = None
        for bounds, provenance in gold:
            if self.made(provenance):
                return bounds
            if bounds == self.bounds:
                equal = bounds
        return equal

    def seen(self, gold: Iterable[tuple[LabeledBounds, Provenance | None]]) -> tuple[str, LabeledBounds | None]:
        """The state that pages show: rejected if gold holds the span, whoever added it."""
        if self.decision is not None and self.decision.verdict == ACCEPTED:
            return "accepted", None
        bounds = self.kept(gold)
        return ("rejected", bounds) if bounds else ("open", None)


def removals_in(document: Document, author: Author, review: Review | None) -> list[Removal]:
    """The proposed removals of a note in the order of the text.

    Those are left out that another annotation of the refiner replaces exactly, and that overlap a hidden planted
    leak, because they would show where to look.
    """
    proposed = removals_of(author, document)
    if not proposed:
        return []
    there = AnnotationSet.objects.filter(author=author, document=document)
    rows = list(there.values_list("pk", "spans__start", "spans__end", "spans__label_id"))
    spans = {(start, end, label) for _, start, end, label in rows}
    made = verdicts(review.pk) if review else {}
    leaks = hidden_in(review) if review and review.planted_share else PlantedLeak.objects.none()
    hidden = list(leaks.values_list("suggestion__start", "suggestion__end"))
    return [
        Removal(one, rows[0][0], made.get(one.number))
        for one in proposed
        if (one.start, one.end, one.label_id) not in spans
        and not any(start < one.end and one.start < end for start, end in hidden)
    ]


def verdicts(review: int) -> dict[int, RemovalVerdict]:
    """The decisions of a review on proposed removals, by number."""
    made = RemovalDecision.objects.filter(review_id=review).order_by()
    rows = made.values_list("number", "verdict", "reviewer_id", "reviewer__username", "at")
    return {row[0]: RemovalVerdict(*row) for row in rows}


def removal_shown(one: Removal, gold: Iterable[tuple[LabeledBounds, Provenance | None]]) -> RemovalView:
    state, bounds = one.seen(gold)
    number, start, end, label, reason, _origin = one.proposed
    by, at = (one.decision.by, one.decision.at.isoformat()) if one.decision else (None, None)
    return RemovalView(
        number=number, start=start, end=end, label=label, reason=reason, state=state, bounds=bounds, by=by, at=at
    )
