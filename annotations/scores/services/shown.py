"""What the page of a score shows beside the plain figures: choices, all or nothing, and the rewritten text."""

from typing import Any, TypedDict

from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.core.templatetags.plots import PlotLine
from annotations.notes.selectors.in_context import LabelLook
from annotations.scores.rules.all_or_nothing import NotesAllFound
from annotations.scores.rules.published import COUNTED_LABELS, REWRITTEN, counted_f1
from annotations.scores.rules.rewritten import Counting
from annotations.scores.rules.table import AfterPass
from annotations.scores.rules.tally import Criterion
from annotations.scores.selectors import FOUND
from annotations.scores.services.choices import Type, type_groups
from annotations.scores.services.scoring import ScoredTable, ScoreRequest, label_mapper


def look_of(looks: dict[str, LabelLook], code: str) -> LabelLook:
    return looks.get(code) or LabelLook(code, code)


def offered_types(wanted: ScoreRequest, looks: dict[str, LabelLook]) -> tuple[list[list[Type]], dict[str, str]]:
    """The labels and categories that can be chosen, and the names of categories by code.

    None if the mapping lacks a label, which the score then says.
    """
    try:
        mapper = label_mapper(wanted)
    except ServiceError:
        return [], {}
    names = {code: look.name for code, look in looks.items()}
    return type_groups(mapper.category_of, mapper.category_names, names, wanted.types), mapper.category_names


def found_notes(table: ScoredTable) -> list[tuple[str, NotesAllFound, NotesAllFound | None]]:
    """All-or-nothing recall by definition of “found”, of all and of the chosen labels."""
    whole, chosen = table["all_or_nothing"], table["all_or_nothing_chosen"]
    return [(str(name), whole[one], chosen["found"][one] if chosen else None) for one, name in FOUND.items()]


# A chart with more lines is hard to read; the table beside it has all categories.
MOST_LINES = 8


class CategoryByPass(TypedDict):
    name: str
    notes: int
    shares: list[float | None]


class PassesShown(TypedDict):
    """All-or-nothing recall by pass: of all categories, by category, and the lines of the chart."""

    rows: list[AfterPass]
    categories: list[CategoryByPass]
    lines: list[PlotLine]


def passes_shown(table: ScoredTable, names: dict[str, str]) -> PassesShown | None:
    """What the page shows of the figures by pass; None if the author's suggestions name no pass."""
    rows = table["by_pass"]
    if not rows:
        return None
    criterion = Criterion.TOLERANT_CATEGORY
    categories: list[CategoryByPass] = [
        {
            "name": names.get(row["category"], row["category"]),
            "notes": row["notes"],
            "shares": [after["categories"][row["category"]][criterion]["share"] for after in rows],
        }
        for row in table["categories"]
        if row["notes"]
    ]
    most = sorted(categories, key=lambda row: -row["notes"])[:MOST_LINES]
    lines = [PlotLine(row["name"], row["shares"]) for row in categories if row in most]
    pooled = [after["all_or_nothing_pooled"]["categories"][criterion]["share"] for after in rows]
    return {"rows": rows, "categories": categories, "lines": [*lines, PlotLine(_("All"), pooled, main=True)]}


def chosen_names(table: ScoredTable, looks: dict[str, LabelLook]) -> str:
    """The names of the chosen labels; empty if none were chosen."""
    chosen = table["all_or_nothing_chosen"]
    return ", ".join(look_of(looks, code).name for code in chosen["labels"]) if chosen else ""


def rewritten_text(table: ScoredTable, counting: Counting, looks: dict[str, LabelLook]) -> dict[str, Any]:
    """The score of the rewritten text by one rule of counting, with published figures for the published rule."""
    found = table["rewritten_substring"] if counting == Counting.SUBSTRING else table["rewritten"]
    return {
        "counted": found,
        "rewritten": [{**row, "look": look_of(looks, row["label"])} for row in found["labels"]],
        "published_counts": counted_f1() if counting == Counting.SUBSTRING else {},
        "published_counts_types": COUNTED_LABELS,
        "published_counts_corpus": REWRITTEN.corpus,
        "published_counts_source": REWRITTEN.source,
    }
