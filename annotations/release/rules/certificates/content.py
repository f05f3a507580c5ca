"""What a certificate says, as its JSON has it.

The headings follow ISO/IEC 27559:2022: context (clause 6), data (7), identifiability (8), governance (9). Shares are
from 0 to 1, dates in ISO 8601. None stands for "not measured"; nothing is estimated in its place.
"""

import json
import math
from typing import Any, Final, NotRequired, TypedDict, TypeVar, cast


class Statement(TypedDict):
    """What the certificate says about a method of HHS (45 CFR 164.514(b)). `method`: safe harbor or expert."""

    method: str
    section: str
    text: str


class Context(TypedDict):
    """For what and for whom the data are released. `expires_on` is the last day of the certificate, or None."""

    purpose: str
    recipient: str
    expires_on: str | None
    statements: list[Statement]


class GoldHash(TypedDict):
    version: int
    hash: str
    notes: int


class Hashes(TypedDict):
    """SHA-256, in hexadecimal. `content`: names, texts and spans of the released notes; `texts`: names and texts.

    `prepared` is the content hash of the release as it was prepared, before any erasure. `edition` stands for the
    release and its decisions: each export repeats it. Certificates of earlier versions don't have it.
    """

    content: str
    texts: str
    prepared: str
    edition: str
    policy: str


class ErasedNotes(TypedDict):
    """Notes taken out since the release was prepared: how many, of how many patients, and when (a date).

    They were erased, or withdrawn from a standing release since a later note showed a leak in them.
    """

    on: str
    notes: int
    patients: int


class RecordsFile(TypedDict):
    """A file of records. `held_back`: records in which an identifier stands in a field that passes."""

    records: int
    held_back: int
    bytes: int
    sha256: str


class RecordSchemaHash(TypedDict):
    """A version of the schema of a type of records, and the SHA-256 of the schema.

    `one_person`: who both added and reviewed it, if one person did.
    """

    data_type: str
    number: int
    sha256: str
    one_person: NotRequired[str]


class ReleasedRecords(TypedDict):
    """Files of records that left with the release. Records without free text have no note: the files stand for them."""

    schemas: list[RecordSchemaHash]
    files: list[RecordsFile]


class Data(TypedDict):
    """The released notes.

    `checked`: people made or checked the annotations here. `imported`: the notes whose annotations a file or an archive
    brought, and that nobody finished here; certificates of earlier versions don't have it. `years`: the first and the
    last that the original notes name. `records`: None without files of records; certificates of earlier versions don't
    have it.
    """

    source: str
    checked: bool
    imported: int
    gold: GoldHash | None
    notes: int
    held_back: int
    patients: int | None
    notes_without_patient: int | None
    years: list[int] | None
    languages: dict[str, int]
    spans: int
    records: ReleasedRecords | None
    hashes: Hashes
    erased: list[ErasedNotes]


class RuleRow(TypedDict):
    """What the policy does with a label. `identifier`: the code of one of the eighteen, or None."""

    label: str
    name: str
    kind: str
    action: str
    numbered: bool
    identifier: str | None
    spans: int


class PolicyPart(TypedDict):
    name: str
    slug: str
    version: int
    rules: list[RuleRow]


class IdentifierRow(TypedDict):
    """One of the eighteen identifiers of Safe Harbor: the labels that are mapped to it, and the actions on them.

    `status`: removed (labels cover all of it, and each is replaced), kept (kept or partly kept in at least one label),
    partly (labels cover a part), none (no label), searched (partly or none, but the leak gate looked for it).
    """

    letter: str
    code: str
    name: str
    labels: list[str]
    actions: list[str]
    spans: int
    status: str


class GateSearch(TypedDict):
    """The revisions of the rules and the names of the runs that the leak gate used.

    `unread`: the number of notes in each language that the rules don't know.
    """

    rules: list[str]
    runs: list[str]
    unread: dict[str, int]


class Gate(TypedDict):
    """What the leak gate found in the released notes, and what people decided about it.

    `by`: who allowed findings. `exceptions`: how often each named exception let a string stay. `searched`: what it
    looked for that nobody labeled; None if only the shapes of contacts.
    """

    found: int
    replaced: int
    allowed: int
    open: int
    by: list[str]
    exceptions: dict[str, int]
    searched: GateSearch | None


class TrainingData(TypedDict):
    """The gold that a model learned from. `version` is None for gold of another project or an uploaded model."""

    gold: int | None
    gold_hash: str | None
    notes: int | None
    spans: int | None


class ModelRow(TypedDict):
    """A model whose suggestions are in the released annotations, or that they were reviewed from."""

    run: str
    backend: str
    revision: str
    model: str | None
    training: TrainingData | None


class Agreement(TypedDict):
    """Agreement between the project's annotators on tokens: Krippendorff's alpha with a 95% interval."""

    alpha: float | None
    low: float | None
    high: float | None
    observed: float | None
    notes: int
    annotators: int


class Recall(TypedDict):
    """All-or-nothing recall of a run against gold: notes of which every gold span is covered. `group`: a subgroup."""

    group: str
    notes: int
    all_found: int
    share: float | None
    spans: int | None
    found: int | None
    recall: float | None


class RunScore(TypedDict):
    """How well a run does without a person, on the notes that have gold, whole and by subgroup.

    `copied`: gold spans that were copied from this run, which make its figures too optimistic.
    """

    run: str
    gold: str
    copied: int
    whole: Recall
    subgroups: list[Recall]


class RateRow(TypedDict):
    name: str
    read: int
    leaks: int
    bound: float


class AuditorRow(TypedDict):
    """An auditor: the notes that they read, and how many of the planted leaks in them they found."""

    name: str
    read: int
    planted: int
    found: int


class AcceptedLeakRow(TypedDict):
    """A leak of the audit that a person left in the release: the label, by whom, and when."""

    label: str
    by: str
    at: str


class AuditPart(TypedDict):
    """What an audit of a random sample shows; see annotations.release.selectors.audits."""

    plan: int
    complete: bool
    method: str
    confidence: float
    notes: int
    drawn: int
    read: int
    leaks: int
    bound: float
    planted: int
    planted_found: int
    recall: float | None
    target: float
    met: bool
    auditors: list[AuditorRow]
    accepted: list[AcceptedLeakRow]
    labels: list[RateRow]
    strata: list[RateRow]


class Utility(TypedDict):
    """Characters of the original notes outside of replaced stretches, which the release shows as they are."""

    characters: int
    kept: int
    share: float | None


class Surrogates(TypedDict):
    """Measures of Singh et al. 2025, appendix A.7, where surrogates were written; `labels` are those replaced so.

    `made_by`: the language model as SERVER/MODEL; None for rules.
    """

    labels: list[str]
    made_by: str | None
    measures: dict[str, float | int | str | None]


class Identifiability(TypedDict):
    policy: PolicyPart
    identifiers: list[IdentifierRow]
    gate: Gate | None
    audit: AuditPart | None
    scores: list[RunScore]
    agreement: Agreement | None
    models: list[ModelRow]
    surrogates: Surrogates | None
    utility: Utility | None


class Risk(TypedDict):
    """An open risk, by whom it was accepted, and when."""

    text: str
    by: str
    at: str


ANNOTATED, ADJUDICATED, REVIEWED = "annotated the notes", "adjudicated the notes", "reviewed the notes"
AUDITED = "audited released notes"


class Reader(TypedDict):
    """A person who read notes of the release, what they did, and with how many notes."""

    name: str
    what: str
    notes: int


class Governance(TypedDict):
    risks: list[Risk]
    readers: list[Reader]


class Content(TypedDict):
    """The content of a certificate. `number` counts the certificates of the release; it replaces `supersedes`.

    `key` is the fingerprint of the key that signs. `project` and `release` name the release.
    """

    format: str
    key: str
    project: str
    project_name: str
    release: int
    number: int
    supersedes: int | None
    issued_at: str
    issued_by: str
    context: Context
    data: Data
    identifiability: Identifiability
    governance: Governance


Part = TypeVar("Part")


def filled(part: type[Part], record: object, **others: Any) -> Part:
    """A part of a certificate: the fields of these names of a record, and others."""
    return cast(Part, {name: getattr(record, name) for name in part.__annotations__.keys() - others.keys()} | others)


# The one way to write a certificate as JSON, so that equal content has equal bytes.


PLACES: Final = 4


def canonical(value: Any) -> bytes:
    """JSON in UTF-8 with sorted keys and without spaces.

    With the numbers that `written` gives, the same bytes as of the JSON Canonicalization Scheme (RFC 8785).
    """
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()


def written(value: Any) -> Any:
    """The value with all fractions rounded to PLACES decimals; a fraction without decimals becomes a whole number."""
    if isinstance(value, float):
        short = round(value, PLACES)
        return int(short) if short.is_integer() else short
    if isinstance(value, dict):
        return {key: written(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [written(one) for one in value]
    return value


def at_most(value: float) -> float:
    """The value rounded up, so that an upper bound stays one."""
    return math.ceil(round(value * 10**PLACES, 6)) / 10**PLACES


def at_least(value: float) -> float:
    """The value rounded down, so that a lower bound stays one."""
    return math.floor(round(value * 10**PLACES, 6)) / 10**PLACES
