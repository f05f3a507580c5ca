"""The data of each verb's events: ids, offsets, labels and counts, under the keys that are stored.

A key that is renamed here needs a migration that renames it in all stored events. Data read from the database has
passed through JSON, so tuples have become lists.
"""

from collections.abc import Mapping, Sequence
from typing import Literal, NotRequired, TypedDict

from annotations.domain.provenance import Provenance
from annotations.models import Verb

Bounds = Sequence[int]
"""Start, end (code points, end-exclusive) and label id."""


# ── Projects, people, labels ─────────────────────────────────────────────────────────────────────────────────────────


class ProjectCreated(TypedDict):
    slug: str
    label_set: str


class ProjectChanged(TypedDict):
    fields: list[str]


class GuidelinesChanged(TypedDict):
    version: int
    length: int


class GuidelinesAmended(GuidelinesChanged):
    amendment: int


class MemberRole(TypedDict):
    user: str
    role: str


class MemberRemoved(TypedDict):
    user: str
    open_notes: int
    drafts: int
    handed_over_to: str | None
    handed_over: int


class ResetLinkMade(TypedDict):
    user: str


class LabelAdded(TypedDict):
    label: str


class LabelChanged(LabelAdded):
    """`before` and `after` by field. Of a description, which is free text, only `fields` says that it changed."""

    fields: list[str]
    before: NotRequired[dict[str, str]]
    after: NotRequired[dict[str, str]]


class LabelMerged(TypedDict):
    source: str
    target: str
    spans: int
    notes: int
    already_there: int


class KeysChanged(TypedDict):
    """The new key by label name, or a word that says that all are the project's keys again."""

    keys: dict[str, str] | str


# ── Notes ────────────────────────────────────────────────────────────────────────────────────────────────────────────

NotesImported = TypedDict(
    "NotesImported",
    {"import": int, "format": str, "as": str, "author": int | None, "notes": int, "spans": int, "refused": int},
)


class NotesAssigned(TypedDict, total=False):
    """Notes assigned to a person (`user`), or by the project's rule (`rule`)."""

    user: str
    rule: bool
    notes: int
    reopened: int


class NoteRead(TypedDict, total=False):
    """What was opened, if not the note's text: an annotation set, a run, or the part that a page shows (`what`)."""

    set: int
    run: int
    what: str


class NotesSearched(TypedDict, total=False):
    """The notes that a search went through, and its options; a search in review (`review`) has no options."""

    review: bool
    after: int
    looked: int
    notes: list[int]
    hits: int
    case: bool
    accents: bool
    word: bool
    where: str
    label: int
    reading: str


class NoteFlagged(TypedDict):
    flag: int
    reason: str


class CommentDone(TypedDict, total=False):
    """`annotator`: whose set it is about; `bounds`: start and end; `answers`: the thread's first comment."""

    comment: int
    answers: int
    annotator: int
    bounds: list[int]
    length: int
    settled: bool


class PatientsSet(TypedDict):
    notes: int


class Erasure(TypedDict):
    """How many rows of each type erasing a patient removes."""

    notes: int
    annotation_sets: int
    gold_versions: int
    stored_files: int
    models: int


class PatientErased(Erasure):
    documents: list[int]


# ── Annotation sets ──────────────────────────────────────────────────────────────────────────────────────────────────


class SpanChange(TypedDict, total=False):
    """One span: `span`, `before` and `after`. Many spans: `spans` as [id, start, end, label].

    `already` counts spans that existed before, `left` spans that an undo could not restore or remove.
    """

    kind: str
    span: int | None
    before: Bounds | None
    after: Bounds | None
    confidence: float
    source: str
    spans: list[list[int]]
    already: int
    left: int


class SetMoved(TypedDict):
    version: int


class SetSeeded(TypedDict):
    from_set: int
    author: int
    spans: int


AdjudicatedSpan = tuple[int, int, int, Provenance | None]
"""Start, end, label id, provenance."""


class Adjudicated(TypedDict):
    """An adjudicated location: its bounds, how and by whom it was decided, and its spans with their provenance."""

    start: int
    end: int
    choice: str
    author: int | None
    heard: dict[str, list[list[int]]]
    by: int
    at: str
    spans: list[AdjudicatedSpan]


class AdjudicationDecided(TypedDict):
    """The adjudicated locations that an act removed and added."""

    before: list[Adjudicated]
    after: list[Adjudicated]
    act: str


class AdjudicationClosed(TypedDict):
    spans: int


class CauseSet(TypedDict):
    """`before`: the causes that this one replaces, as [start, end, kind]."""

    bounds: list[int]
    kind: str
    before: list[list[int | str]]


# ── Gold ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


class GoldMade(TypedDict):
    from_set: int
    spans: int
    removed: list[list[int]]


class GoldWithdrawn(TypedDict):
    removed: list[list[int]]


class GoldFrozen(TypedDict):
    version: int
    hash: str
    notes: int


class GoldSplit(TypedDict):
    version: int
    shares: dict[str, int]
    notes: dict[str, int]
    patients: dict[str, int]
    kept: int


class ExportedSplit(TypedDict):
    shares: dict[str, int]
    layout: str


class NotesExported(TypedDict):
    """`set` is the kind of the `author` if there is one, else the requested set. `losses` counts what was lost."""

    set: str
    author: NotRequired[int]
    format: str
    notes: int
    spans: int
    drafts_left_out: int
    gold_version: int | None
    content_hash: str | None
    split: ExportedSplit | None
    losses: int


class FileDownloaded(TypedDict, total=False):
    """A stored file, or the decision log in a format (`decisions`)."""

    file: int
    size: int
    decisions: str


# ── Review ───────────────────────────────────────────────────────────────────────────────────────────────────────────


class DecisionState(TypedDict):
    """A decision in the log; `cause` names the bulk act that made it."""

    verdict: str
    bounds: Bounds | None
    cause: NotRequired[str]


GoldRow = tuple[int, int, int, float | None, str, Provenance | None]
"""A gold span in the log: start, end, label id, confidence, source, provenance."""
Beside = tuple[int, DecisionState | None, DecisionState | None]
"""Another suggestion that the same act decides: its id, its state before and its state after."""


ReviewDecided = TypedDict(
    "ReviewDecided",
    {
        # The decision on a suggestion, gold spans added and removed, and other suggestions decided by the same act.
        "suggestion": int | None,
        "before": DecisionState | None,
        "after": DecisionState | None,
        "made": list[GoldRow],
        "gone": list[GoldRow],
        "beside": list[Beside],
        # The act, its run, and the bulk act that it belongs to.
        "act": str,
        "run": int,
        "cause": str,
        # The reviewer's pass (first or second of two), the decision overruled, and the result of a planted leak.
        "pass": str,
        "over": int,
        "planted": str,
        # Accepted by finishing the review, and overlapping gold that existed before.
        "rest": bool,
        "with_gold": bool,
    },
    total=False,
)
"""One decision of review, or its undo."""


class BulkCounts(TypedDict):
    decided: int
    left: int
    beside: int
    taken_back: int
    kept: int
    skipped: int
    skipped_notes: int
    conflicts: int


class BulkEnded(BulkCounts):
    """`rule` lacks the hash of the string, from which names could be guessed."""

    bulk: str
    act: str
    rule: dict[str, object]


class OfRun(TypedDict):
    run: int


class ReviewBetween(TypedDict, total=False):
    """A review passes between two reviewers, or is compared. `accepted` counts suggestions accepted by finishing."""

    run: int
    handover: int
    blind: bool
    decided: int
    first: int
    compared: int
    equal: int
    accepted: int
    ended: bool


class ReviewClosed(OfRun):
    spans: int
    found_empty: bool
    accepted: NotRequired[int]
    first: NotRequired[int | None]
    handover: NotRequired[int]


class ReviewRevealed(OfRun):
    """The result of a planted leak."""

    suggestion: int
    planted: str
    known: str
    reviewer: int | None
    drawn: str


# ── What machines do ─────────────────────────────────────────────────────────────────────────────────────────────────


class RunStarted(TypedDict):
    author: int
    backend: str
    notes: int


class CalibrationWithdrawn(TypedDict):
    backend: str
    calibration: int


class Calibrated(CalibrationWithdrawn):
    gold: int


class JudgingStarted(TypedDict):
    judging: int
    gold: int
    judges: list[str]


class ModelTrained(TypedDict):
    model: int
    gold: int
    algorithm: str


class ModelUploaded(TypedDict):
    model: int
    sha256: str
    size: int


class OfModel(TypedDict):
    model: int


# ── Verbs whose events hold the same data ────────────────────────────────────────────────────────────────────────────

SpanVerb = Literal[
    Verb.SPAN_CREATED,
    Verb.SPAN_CHANGED,
    Verb.SPAN_DELETED,
    Verb.SPANS_CREATED,
    Verb.SPANS_DELETED,
    Verb.SPAN_UNDO_SKIPPED,
]
FlagVerb = Literal[Verb.NOTE_FLAGGED, Verb.NOTE_UNFLAGGED]
CommentVerb = Literal[Verb.COMMENT_ADDED, Verb.COMMENT_CHANGED, Verb.COMMENT_DELETED, Verb.COMMENT_RESOLVED]
SetVerb = Literal[Verb.SET_SUBMITTED, Verb.SET_REOPENED]
AdjudicationVerb = Literal[Verb.ADJUDICATED, Verb.ADJUDICATION_UNDONE]
DecisionVerb = Literal[Verb.REVIEW_DECIDED, Verb.REVIEW_UNDONE]
BulkVerb = Literal[Verb.REVIEW_BULK_DONE, Verb.REVIEW_BULK_UNDONE]
HandingVerb = Literal[Verb.REVIEW_HANDED, Verb.REVIEW_TAKEN_BACK, Verb.REVIEW_COMPARED]

EventData = Mapping[str, object]
