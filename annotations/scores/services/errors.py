"""The errors of a score: filtered, their download, and by category as in Catelli 2021, table 4.9."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from django.utils import timezone

from annotations.core.events import FILE_DOWNLOADED
from annotations.formats.files.csv_files import csv_line
from annotations.models import CauseKind, Project, User
from annotations.notes.selectors.in_context import LabeledText, label_looks, with_entries
from annotations.scores.rules import causes as cause_rules
from annotations.scores.selectors import learned_notes, masking_threshold
from annotations.scores.services.causes import causes_of_errors
from annotations.scores.services.scoring import Error, Score, ScoredTable, ScoreRequest, notes_of, score_errors

UNTAGGED = "none"
# Errors whose notes are read together for a download.
AT_ONCE = 200


@dataclass(frozen=True)
class ErrorFilters:
    """The filters of the list; an empty value filters nothing. `label` is the gold or the predicted label."""

    kind: str
    label: str
    gold: str
    predicted: str
    category: str
    cause: str
    note: int | None

    @property
    def any(self) -> bool:
        return any((self.kind, self.label, self.gold, self.predicted, self.category, self.cause, self.note))

    def takes(self, row: Error, category_of: Mapping[str, str], causes: cause_rules.Causes) -> bool:
        note, kind, *spans = row
        gold, predicted = (span[2] if span else "" for span in spans)
        return (
            self.kind in ("", kind)
            and self.note in (None, note)
            and (not self.label or self.label in (gold, predicted))
            and self.gold in ("", gold)
            and self.predicted in ("", predicted)
            and self.category in ("", category_of.get(gold or predicted))
            and (not self.cause or self.cause in (causes.get(cause_rules.ErrorId.of(row)) or (UNTAGGED,)))
        )


@dataclass(frozen=True)
class ListedErrors:
    """The errors of a score, and what filters choose of them."""

    wanted: ScoreRequest
    table: ScoredTable
    errors: list[Error]
    chosen: ErrorFilters
    causes: cause_rules.Causes

    @property
    def category_of(self) -> dict[str, str]:
        return {row["label"]: row["category"] for row in self.table["labels"]}

    @property
    def rows(self) -> list[Error]:
        category_of = self.category_of
        return [row for row in self.errors if self.chosen.takes(row, category_of, self.causes)]


def export_errors(*, project: Project, actor: User | None, listed: ListedErrors) -> tuple[Iterator[str], str]:
    """Return the lines of the CSV file, and its name. Record the download."""
    FILE_DOWNLOADED.record(actor=actor, project_id=project.pk, data={"errors": "csv"})
    day = timezone.localdate().isoformat()
    return _lines(project, listed), f"{project.slug}-errors-{day}.csv"


def _lines(project: Project, listed: ListedErrors) -> Iterator[str]:
    """CSV by RFC 4180 with a header row. Offsets are code points, end-exclusive; labels are codes."""
    looks, category_of, rows = label_looks(project, listed.wanted.into), listed.category_of, listed.rows
    sides = [f"{side}_{what}" for side in ("gold", "predicted") for what in ("start", "end", "label", "text")]
    yield csv_line(["note", "line", "type", *sides, "category", "causes", "sentence"])
    for at in range(0, len(rows), AT_ONCE):
        for row, entry in with_entries(rows[at : at + AT_ONCE], looks):
            _note, kind, gold, predicted = row
            label = next(span[2] for span in (gold, predicted) if span)
            yield csv_line(
                [
                    entry.name, entry.line, str(kind), *_cells(gold, entry.first), *_cells(predicted, entry.second),
                    category_of.get(label, ""), " ".join(sorted(listed.causes.get(cause_rules.ErrorId.of(row), ()))),
                    entry.before + entry.marked + entry.after,
                ]
            )  # fmt: skip


def _cells(span: Sequence[Any] | None, shown: LabeledText | None) -> list[object]:
    return [*span, shown.quote] if span and shown else [None] * 4


class CategoryErrors(cause_rules.CategoryShares, cause_rules.ErrorCounts):
    """The errors of one category."""


class ErrorTable(TypedDict):
    categories: list[CategoryErrors]
    all: cause_rules.ErrorCounts


def error_table(wanted: ScoreRequest, score: Score) -> ErrorTable:
    """Return the errors of each category, and of all. Causes are of the listed errors (`score_errors`)."""
    table = score.table
    category_of = {row["label"]: row["category"] for row in table["labels"]}
    errors, causes = score_errors(wanted, score), causes_of_errors(wanted)
    by_category, total = cause_rules.counts_by_category(errors, causes, category_of, CauseKind.values)
    return {
        "categories": [
            {**shares, **by_category[shares["category"]]}
            for shares in cause_rules.category_shares(table["levels"], table["labels"])
        ],
        "all": total,
    }


def about_score(wanted: ScoreRequest, found: Score) -> dict[str, Any]:
    """What is said beside the figures of a score. It isn't stored with them, since it may change later.

    `notes_learned_from`: the scored notes from which the author's model learned, maybe after the score was computed.
    """
    return {
        "notes_learned_from": learned_notes(wanted.author, notes_of(wanted).notes),
        "errors_by_category": error_table(wanted, found),
        "masking_threshold": masking_threshold(wanted.author),
    }
