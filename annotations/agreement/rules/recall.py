"""The estimated recall of annotators, with intervals, ready for JSON."""

from collections.abc import Sequence

from annotations.agreement.rules.bootstrap import Between, RecallIntervals, nothing, recall_intervals
from annotations.agreement.rules.capture import COUNTS, Captures, Found, Matching, found_in
from annotations.agreement.rules.shown import Recall, shown


def recall(
    captures: Captures, annotators: Sequence[str], samples: int, between: Between = nothing
) -> dict[str, Recall]:
    """For each matching: the spans found, the estimated spans that nobody found, and the recall of annotators."""
    result: dict[str, Recall] = {}
    for matching in Matching:
        groups = captures.groups[matching]
        found = found_in(groups)
        around = recall_intervals(groups, captures.notes, annotators, samples, between) if samples else None
        result[str(matching)] = _figures(found, around, annotators)
    return result


def _figures(found: Found, around: RecallIntervals | None, annotators: Sequence[str]) -> Recall:
    return {
        "found": found.known,
        "hidden": found.hidden if found.twice else None,
        "annotators": [
            {
                "annotators": number,
                "projected": found.projected_for(number),
                **shown(found.recall(number), around.annotators[number] if around else None),
            }
            for number in COUNTS
        ],
        "each": [
            {"annotator": name, **shown(found.recall_of(name), around.each[name] if around else None)}
            for name in annotators
        ],
    }
