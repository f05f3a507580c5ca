"""The errors of a score by category: their shares, and their causes as in Catelli 2021, table 4.9."""

from typing import TypedDict

from annotations.agreement.templatetags.coefficients import percent
from annotations.models import CauseKind
from annotations.scores.rules.causes import CategoryShares, CauseCounts, category_shares, counts_by_category
from annotations.scores.services.causes import causes_of_errors
from annotations.scores.services.scoring import Score, ScoreRequest, score_errors


class ErrorCounts(TypedDict):
    """How many of the listed errors have each cause, and how many have none."""

    errors: int
    causes: dict[str, int]
    without_cause: int


class CategoryErrors(CategoryShares, ErrorCounts):
    """The errors of one category."""


class ErrorTable(TypedDict):
    categories: list[CategoryErrors]
    all: ErrorCounts


def error_table(wanted: ScoreRequest, score: Score) -> ErrorTable:
    """Return the errors of each category, and of all. Causes are of the listed errors (`score_errors`)."""
    table = score.table
    category_of = {row["label"]: row["category"] for row in table["labels"]}
    by_category, total = counts_by_category(score_errors(wanted, score), causes_of_errors(wanted), category_of)
    return {
        "categories": [
            {**shares, **_counts(by_category.get(shares["category"], CauseCounts()))}
            for shares in category_shares(table["levels"], table["labels"])
        ],
        "all": _counts(total),
    }


def _counts(found: CauseCounts) -> ErrorCounts:
    return {
        "errors": found.errors,
        "causes": {kind: found.causes[kind] for kind in CauseKind.values},
        "without_cause": found.without,
    }


def error_lines(found: ErrorTable) -> list[str]:
    """The table as lines of text, for commands: errors and causes of each category, and of all; none without errors."""
    rows = [(row["category"], row, _shares(row)) for row in found["categories"] if row["errors"]]
    return [
        f"Errors in {name}: {row['errors']}{shares} · causes: {_causes(row)}"
        for name, row, shares in (*rows, *([("all categories", found["all"], "")] if rows else []))
    ]


def _shares(row: CategoryErrors) -> str:
    unit = row["entity"]
    shares = (("false positives", unit["spurious_share"]), ("false negatives", unit["missed_share"]))
    return "".join(f" · {percent(share)} of {name}" for name, share in shares if share is not None)


def _causes(row: ErrorCounts) -> str:
    return ", ".join(f"{kind} {n}" for kind, n in (*row["causes"].items(), ("none", row["without_cause"])))
