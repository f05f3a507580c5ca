"""The errors of a score: filtered, their download, by category as in Catelli 2021, table 4.9, and their causes."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypedDict

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.core.services import FILE_DOWNLOADED, ServiceError
from annotations.formats.files.csv_files import csv_line
from annotations.models import CauseKind, Document, ErrorCause, Label, Project, User
from annotations.notes.selectors.in_context import LabeledText, label_looks, with_entries
from annotations.scores.events import ERROR_CAUSE_ADDED, ERROR_CAUSE_REMOVED, ErrorCauseChanged
from annotations.scores.rules import causes as cause_rules
from annotations.scores.rules.causes import ErrorId
from annotations.scores.rules.errors import LabeledBounds
from annotations.scores.selectors import learned_notes, masking_threshold
from annotations.scores.services.scoring import Error, Score, ScoredTable, ScoreRequest, notes_of, score_errors
from annotations.text.names import whole_number

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

    @classmethod
    def of(cls, wanted: ScoreRequest, found: Score, chosen: ErrorFilters) -> Self:
        """The errors of a score that is stored or was computed."""
        return cls(wanted, found.table, score_errors(wanted, found), chosen, causes_of_errors(wanted))

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
        "notes_learned_from": learned_notes(wanted.author, notes_of(wanted)),
        "errors_by_category": error_table(wanted, found),
        "masking_threshold": masking_threshold(wanted.author),
    }


# The causes of a system's errors, by the sources of errors of Catelli 2021, section 4.1.2; an error has any number.
#
# A cause belongs to an error as `ErrorId` defines it, of one author. It counts in every score that has this error, so
# another score of the same author, or one against another version with the same gold there, shows it again. When the
# author or the gold no longer has one of the two spans, the error is another one or none, and the cause is not shown.


COLUMNS = (
    *("pk", "kind", "document_id", "gold_start", "gold_end", "gold_label"),
    *("predicted_start", "predicted_end", "predicted_label"),
)


def change_error_cause(
    *, wanted: ScoreRequest, found: Score, error: str, kind: str, present: bool, user: User
) -> set[str]:
    """Add a cause to an error of this score, or remove it. Return the causes that the error has then.

    `wanted` is the request of the score `found`; `error` is an `ErrorId` as text. Raises ServiceError
    `kind`, or `error` if the score has no such error.
    """
    if kind not in CauseKind.values:
        message = _("“%(kind)s” is not a cause. Choose one of: %(choices)s.")
        raise ServiceError(message % {"kind": kind[:10], "choices": ", ".join(CauseKind.values)}, code="kind")
    wrong = _error_of(wanted, found, error)
    with transaction.atomic():
        if not Document.objects.select_for_update(of=("self",)).only("pk").filter(pk=wrong.note).first():
            raise _gone()
        rows = _rows(wanted, [wrong.note]).get(wrong, {})
        if (kind in rows) != present:
            _write(wanted, wrong, kind, rows.get(kind), user)
    return {*rows, kind} if present else set(rows) - {kind}


def _write(wanted: ScoreRequest, error: ErrorId, kind: str, stored: list[int] | None, user: User) -> None:
    """Delete the stored rows of a cause, or make one if there are none, and record the event."""
    if stored:
        ErrorCause.objects.filter(pk__in=stored).delete()
    else:
        ErrorCause.objects.create(
            document_id=error.note, author=wanted.author, labels_of=wanted.into, kind=kind, by=user,
            **_columns("gold", error.gold), **_columns("predicted", error.predicted),
        )  # fmt: skip
    verb = ERROR_CAUSE_REMOVED if stored else ERROR_CAUSE_ADDED
    data = ErrorCauseChanged(
        author=wanted.author.pk, labels_of=wanted.into, gold=error.gold, predicted=error.predicted, kind=kind
    )
    verb.record(actor=user, project_id=wanted.reference.project.pk, document_id=error.note, data=data)


def _columns(name: str, span: LabeledBounds | None) -> dict[str, Any]:
    start, end, label = span or (0, 0, "")
    return {f"{name}_start": start, f"{name}_end": end, f"{name}_label": label}


def _error_of(wanted: ScoreRequest, found: Score, error: str) -> ErrorId:
    note = whole_number(error.partition(":")[0])
    ids = (ErrorId.of(row) for row in score_errors(wanted, found) if row[0] == note)
    wrong = next((one for one in ids if str(one) == error), None)
    if wrong is None:
        raise _gone()
    return wrong


def _gone() -> ServiceError:
    return ServiceError(_("This error no longer exists in this score. Reload the page."), code="error")


def causes_of_errors(wanted: ScoreRequest) -> dict[ErrorId, set[str]]:
    """Return the stored causes of the author's errors, by error."""
    return {error: set(rows) for error, rows in _rows(wanted, None).items()}


def _rows(wanted: ScoreRequest, notes: Collection[int] | None) -> dict[ErrorId, dict[str, list[int]]]:
    """Return the ids of the stored rows by error and cause. Labels that were merged since are replaced."""
    stored = ErrorCause.objects.filter(author=wanted.author, labels_of=wanted.into).order_by("pk")
    if notes is not None:
        stored = stored.filter(document__in=notes)
    rows = list(stored.values_list(*COLUMNS))
    merged = _merged(wanted.reference.project) if rows and not wanted.into else {}
    found: dict[ErrorId, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for pk, kind, note, *spans in rows:
        gold, predicted = (_span(spans[at], spans[at + 1], spans[at + 2], merged) for at in (0, 3))
        found[ErrorId(note, gold, predicted)][kind].append(pk)
    return found


def _span(start: int, end: int, label: str, merged: dict[str, str]) -> LabeledBounds | None:
    return (start, end, merged.get(label, label)) if label else None


def _merged(project: Project) -> dict[str, str]:
    labels = Label.objects.filter(label_set__project=project, merged_into__isnull=False).order_by()
    return {code: now for code, now in labels.values_list("code", "merged_into__code") if now}
