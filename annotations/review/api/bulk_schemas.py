"""Bodies of requests and answers of bulk acts."""

from datetime import datetime
from typing import Any, Literal, Self
from uuid import UUID

from ninja import Field, Schema

from annotations.core.api.schemas import Body
from annotations.models import BulkAct
from annotations.review.api.schemas import Codes
from annotations.review.selectors.bulk_preview import BulkPreview
from annotations.review.selectors.bulk_rules import rule_of
from annotations.review.selectors.occurrences import Occurrence
from annotations.review.selectors.suggested_strings import Order, StringRow

SHOWN = 200


class RuleOut(Schema):
    """The rule of a bulk act. `least` is a confidence from 0 to 1; `exceptions` counts excepted suggestions."""

    kind: str
    runs: list[int]
    label: str | None
    source: str | None
    least: float | None
    agree: int
    to: str | None
    exceptions: int
    with_gold: bool
    with_doubtful: bool


class BulkItem(Schema):
    """A bulk act and its counts of suggestions. `state` is planned, working, done, undoing or undone.

    `left` were decided by somebody else first; `beside` were rejected because they conflict with accepted ones;
    `skipped` are in `skipped_notes` notes that have gold; `conflicts` stay open; `kept` could not be undone.
    """

    id: UUID
    act: str
    state: str
    user: str
    rule: RuleOut
    planned: int
    decided: int
    left: int
    beside: int
    skipped: int
    skipped_notes: int
    doubtful: int
    conflicts: int
    undone: int
    kept: int
    created_at: datetime
    ended_at: datetime | None

    @classmethod
    def of(cls, row: BulkAct, codes: Codes, **more: Any) -> Self:
        rule = rule_of(row.rule)
        shown = RuleOut(
            kind=rule.kind, runs=list(rule.runs), label=codes.get(rule.label or 0), source=rule.source,
            least=rule.least, agree=rule.agree, to=codes.get(rule.to or 0), exceptions=len(rule.but),
            with_gold=rule.with_gold, with_doubtful=rule.with_doubtful,
        )  # fmt: skip
        counts = {name: getattr(row, name) for name in _COUNTS}
        return cls(
            id=row.pk, act=row.act, state=row.state, user=row.user.username, rule=shown, created_at=row.created_at,
            ended_at=row.ended_at, **counts, **more,
        )  # fmt: skip


_COUNTS = (
    "planned", "decided", "left", "beside", "skipped", "skipped_notes", "doubtful", "conflicts", "undone", "kept",
)  # fmt: skip


class PreviewOut(Schema):
    """What an act would do: how many suggestions match, are decided and stay open. `conflicts`: null if too many."""

    open: int
    decided: int
    conflicts: int | None
    skipped: int
    skipped_notes: int
    doubtful: int

    @classmethod
    def of(cls, found: BulkPreview) -> Self:
        return cls(
            open=found.open, decided=found.decided, conflicts=found.conflicts, skipped=found.skipped,
            skipped_notes=found.notes, doubtful=found.doubtful,
        )  # fmt: skip


class PrecisionOut(Schema):
    """Precision of an act's `count` open suggestions. Of those decided one by one in finished reviews, `right` of
    `checked` were right, in `notes` notes; `low` and `high` are the 95% interval over notes of their share.

    `expected`: the mean calibrated confidence of the `calibrated` open suggestions that have one. `only_drawn`: only
    notes that were drawn at random count, because others were chosen for their suggestions.
    """

    count: int
    right: int
    checked: int
    notes: int
    share: float | None
    low: float
    high: float
    expected: float | None
    calibrated: int
    only_drawn: bool


class ExpectedOut(PrecisionOut):
    """The same for the open suggestions with one label."""

    label: str


class BulkWithPreview(BulkItem):
    """A bulk act; while it is planned, with a preview: as it is, with notes that have gold, with doubtful ones."""

    preview: PreviewOut | None = None
    preview_with_gold: PreviewOut | None = None
    preview_with_doubtful: PreviewOut | None = None
    precision: PrecisionOut | None = None
    expected: list[ExpectedOut] = []


class NewBulkAct(Body):
    """Which suggestions to decide. `threshold`: those of at least `least` percent confidence.

    `agreed`: those that at least `agree` of the runs suggest with the same bounds and label. `runs` are ids of runs as
    in the list of reviews; `label` is a code.
    """

    act: Literal["accept", "reject"] = "accept"
    kind: Literal["threshold", "agreed"] = "threshold"
    runs: list[int] = Field(min_length=1, max_length=200)
    least: float | None = Field(None, ge=0, le=100)
    agree: int | None = Field(None, ge=2, le=200)
    label: str = Field("", max_length=60)
    source: str = Field("", max_length=80)


class Including(Body):
    """`with_gold`: include notes that already have gold. `with_doubtful`: include doubtful suggestions."""

    with_gold: bool = False
    with_doubtful: bool = False


class Chosen(Schema):
    """`run`: ids of runs as in the list of reviews, by default all runs except merged lists."""

    run: list[int] = Field([], max_length=200)

    @property
    def words(self) -> list[str]:
        return [str(one) for one in self.run]


class StringFilters(Chosen):
    label: str = Field("", max_length=60)
    order: Order = "open"


class StringItem(Schema):
    """A string that runs suggest with one label. `open` suggestions wait for a decision, out of `count`.

    `skipped` are in notes that already have gold, and `doubtful` ones elsewhere: acts skip both unless asked.
    """

    id: int
    text: str
    label: str
    count: int
    open: int
    skipped: int
    doubtful: int
    confidence: float | None

    @classmethod
    def of(cls, row: StringRow, codes: Codes) -> Self:
        return cls(
            id=row.pk, text=row.text, label=codes[row.label], count=row.count, open=row.open, skipped=row.skipped,
            doubtful=row.doubtful, confidence=row.confidence,
        )  # fmt: skip


class OccurrenceOut(Schema):
    """A suggestion in its context. Offsets are in code points, end-exclusive.

    `state` is open, accepted, rejected, gold, draft or unavailable.
    """

    suggestion: int
    note: int
    name: str
    run: str
    label: str
    start: int
    end: int
    before: str
    marked: str
    after: str
    confidence: float | None
    source: str
    state: str
    by: str

    @classmethod
    def of(cls, one: Occurrence, codes: Codes) -> Self:
        return cls(
            suggestion=one.alias, note=one.note, name=one.name, run=one.run, label=codes[one.label], start=one.start,
            end=one.end, before=one.before, marked=one.marked, after=one.after, confidence=one.confidence,
            source=one.source, state=one.state, by=one.by,
        )  # fmt: skip


class StringAct(Body):
    """What to do with all open suggestions of a string in these runs, except the suggestions in `but`.

    `to`: the code of the label to accept them with; empty: the suggested one.
    """

    act: Literal["accept", "reject"]
    runs: list[int] = Field([], max_length=200)
    but: list[int] = Field([], max_length=SHOWN)
    to: str = Field("", max_length=60)
