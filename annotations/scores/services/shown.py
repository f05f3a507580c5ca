"""What the page of a score shows beside the plain figures: choices, all or nothing, and the rewritten text."""

from typing import Any

from annotations.core.errors import ServiceError
from annotations.domain.scoring.all_or_nothing import NotesAllFound
from annotations.domain.scoring.counts import Counting
from annotations.domain.scoring.published_counts import CORPUS, COUNTED, SOURCE, TYPES
from annotations.notes.selectors.in_context import LabelLook
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
        "published_counts": COUNTED if counting == Counting.SUBSTRING else (),
        "published_counts_types": TYPES,
        "published_counts_corpus": CORPUS,
        "published_counts_source": SOURCE,
    }
