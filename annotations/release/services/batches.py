"""Prepare the notes of a release in batches of whole patients."""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from typing import Final, TypeVar

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from annotations.core.bulk import collector_paused, update_rows
from annotations.core.sealing import project_key
from annotations.core.services import ErasedMeanwhile, ServiceError, erasures_of, unerased
from annotations.core.spans import json_of
from annotations.models import Document, LeakFinding, Release, ReleasedNote, ReleasedNoteState
from annotations.release.rules.redaction.released import span_to_original, span_to_released
from annotations.release.services.policies import read_policy
from annotations.release.services.preparing import PreparedNote, Preparer
from annotations.release.services.replacing import Extra, GoneMeanwhile
from annotations.release.services.sources import source_of
from annotations.release.services.surrogates.makers import paid_by
from annotations.text.spans import Bounds

# Store prepared notes and their findings, in the caller's transaction.


Answer, Origin, Where = LeakFinding.Answer, LeakFinding.Origin, LeakFinding.Where
State = ReleasedNoteState
Mark = tuple[str, int, int, int]
"""By which a finding is recognized again: where, bounds in the original, and the key of its string."""
DIGITS = 12
COLUMNS = (
    "name", "state", "sha256", "span_count", "spans", "pieces", "extra", "exceptions", "characters_kept",
    "first_year", "last_year", "text",
)  # fmt: skip


def extras_of(row: ReleasedNote) -> list[Extra]:
    """The stretches that decisions added to a note."""
    return [Extra(*one) for one in row.extra]


def store_prepared(release: Release, rows: Sequence[ReleasedNote], prepared: Sequence[PreparedNote]) -> None:
    """Store prepared notes with their findings, and hold back the notes with findings that nobody has decided.

    Decisions stay: a finding that is found again keeps its answer, unless it was to be replaced and is still there. One
    that is no longer found stays if it was replaced, and goes otherwise. `rows` need their documents.
    """
    row_of = {row.document_id: row for row in rows}
    before: dict[int, list[LeakFinding]] = defaultdict(list)
    for finding in LeakFinding.objects.filter(note__in=[row.pk for row in rows]):
        before[finding.note_id].append(finding)
    added: list[LeakFinding] = []
    changed: list[LeakFinding] = []
    gone: list[int] = []
    held: dict[int, bool] = {}
    for one in prepared:
        row = row_of[one.pk]
        known = {mark_of(finding): finding for finding in before[row.pk]}
        for found in one.found:
            mark = mark_of(found)
            if mark not in known:
                finding = found
                finding.note = row
                added.append(finding)
            elif _again(finding := known.pop(mark), found):
                changed.append(finding)
            held[row.pk] = held.get(row.pk, False) or not finding.decision
        for finding in known.values():
            if finding.origin == Origin.AUDIT:  # A person has found it, and only a person decides about it.
                start, end = span_to_released(one.released.pieces, finding.original_start, finding.original_end)
                if start < end:
                    finding.start, finding.end = start, end
                changed.append(finding)
                held[row.pk] = held.get(row.pk, False) or not finding.decision
            elif finding.decision != Answer.REPLACE:
                gone.append(finding.pk)
        bare = {
            (finding.original_start, finding.original_end)
            for finding in before[row.pk] if finding.where == Where.ATTRIBUTE and finding.decision == Answer.REPLACE
        }  # fmt: skip
        _fill(row, one, bare)
    renamed = {
        finding.note_id for some in before.values() for finding in some
        if finding.where == Where.NAME and finding.decision == Answer.REPLACE
    }  # fmt: skip
    _name(release, rows, renamed)
    for row in rows:
        row.state = State.HELD if held.get(row.pk) else State.DONE
    LeakFinding.objects.filter(pk__in=gone).delete()
    LeakFinding.objects.bulk_update(changed, ["start", "end", "decision", "decided_by", "decided_at"], batch_size=100)
    update_rows(ReleasedNote, COLUMNS, rows)
    LeakFinding.objects.bulk_create(added, batch_size=500)


def mark_of(finding: LeakFinding) -> Mark:
    return str(finding.where), finding.original_start, finding.original_end, finding.string_key


def _again(finding: LeakFinding, found: LeakFinding) -> bool:
    """Move a finding to its place in the new text. Return whether anything changed.

    Names and attributes stay as they are in the original, so a finding there is always found again.
    """
    before = (finding.start, finding.end, finding.decision)
    finding.start, finding.end = found.start, found.end
    if finding.decision == Answer.REPLACE and finding.where == Where.TEXT:
        finding.decision, finding.decided_by, finding.decided_at = "", None, None
    return before != (finding.start, finding.end, finding.decision)


def _fill(row: ReleasedNote, one: PreparedNote, bare: Collection[Bounds]) -> None:
    """Fill in a row. `bare`: the bounds in the original of spans whose attributes a decision removes."""
    row.text = one.released.text
    row.sha256 = one.sha256
    row.spans = [
        [start, end, label, json_of(attributes)]
        if attributes and span_to_original(one.released.pieces, start, end) not in bare
        else [start, end, label]
        for start, end, label, attributes in one.spans
    ]
    row.span_count = len(one.spans)
    row.pieces = [[*piece[:5], str(piece.action)] for piece in one.released.pieces]
    row.exceptions = dict(sorted(one.exceptions.items()))
    row.characters_kept = one.characters_kept
    row.first_year, row.last_year = (one.years[0], one.years[-1]) if one.years else (None, None)


def _name(release: Release, rows: Iterable[ReleasedNote], renamed: Collection[int]) -> None:
    """Give each note a neutral name. If the release keeps names, only where a decision says so."""
    neutral = [row for row in rows if row.pk in renamed or not release.keep_names]
    names = neutral_names(release, neutral)
    for row in rows:
        row.name = names.get(row.pk, row.document.name)


def neutral_names(release: Release, rows: Sequence[ReleasedNote]) -> dict[int, str]:
    """Names such as `note-048213377150` by row, which no note of the project or release has.

    The number is derived from the project's key, so that it says nothing about the order of notes or patients.
    """
    if not rows:
        return {}
    key = project_key(release.project_id)
    names: dict[int, str] = {}
    waiting, attempt = list(rows), 0
    while waiting:
        made = {
            row.pk: f"note-{key.number('name of a note', str(row.document_id), str(attempt)) % 10**DIGITS:0{DIGITS}}"
            for row in waiting
        }
        others = ReleasedNote.objects.filter(release=release, name__in=made.values()).exclude(pk__in=made)
        taken = {*names.values(), *others.values_list("name", flat=True)}
        taken |= {
            *Document.objects.filter(project=release.project_id, name__in=made.values()).values_list("name", flat=True)
        }
        for row in waiting:
            if made[row.pk] not in taken:
                names[row.pk] = made[row.pk]
                taken.add(made[row.pk])
        waiting, attempt = [row for row in waiting if row.pk not in names], attempt + 1
    return names


Held = Sequence[tuple[int, int]]
"""First and last id of rows that other workers hold, both included."""

NOTES: Final = 200
CHARACTERS: Final = 1_000_000
"""A batch ends with the patient that reaches one of these limits."""
TRIES: Final = 20
"""How often work starts again because notes were erased meanwhile."""
T = TypeVar("T")


def pending(release: Release) -> QuerySet[ReleasedNote]:
    return ReleasedNote.objects.filter(release=release, state=ReleasedNoteState.PENDING)


def next_batch(release: Release, held: Held = ()) -> list[int]:
    """The ids of the next pending rows: whole patients, all before the next rows that another worker holds."""
    rows = pending(release)
    for first, last in held:
        rows = rows.exclude(id__range=(first, last))
    ids: list[int] = []
    characters, before = 0, ""
    columns = ("id", "document__length", "document__patient_id")
    for pk, length, patient in rows.order_by("id").values_list(*columns).iterator(chunk_size=NOTES):
        new_patient = not patient or patient != before
        full = len(ids) >= NOTES or characters + length > CHARACTERS
        if ids and new_patient and (full or any(ids[0] < first < pk for first, _last in held)):
            break
        ids.append(pk)
        characters, before = characters + length, patient
    return ids


def preparer_of(release: Release) -> Preparer:
    policy = read_policy(release.policy.rules)
    return Preparer(
        release.project,
        policy,
        source_of(release.project, release.set_spec),
        runs=release.searched_runs,
        keep_names=release.keep_names,
        maker=paid_by(release),
    )


@collector_paused()
def prepare_rows(
    release: Release, preparer: Preparer, ids: Sequence[int], writing: AbstractContextManager[object]
) -> None:
    """Prepare these rows and store them in the transaction that `writing` opens.

    If a note is erased meanwhile, nothing is stored: raises ErasedMeanwhile or GoneMeanwhile, and the caller starts
    again with the rows that are left.
    """
    begun = erasures_of(release.project_id)
    rows, siblings = rows_and_siblings(release, ids)
    originals = preparer.originals([(row.document, extras_of(row)) for row in [*rows, *siblings]])
    prepared = preparer.prepare(originals[: len(rows)], originals[len(rows) :])
    with writing:
        unerased(release.project_id, begun)
        store_prepared(release, rows, prepared)


def rows_and_siblings(release: Release, ids: Sequence[int]) -> tuple[list[ReleasedNote], list[ReleasedNote]]:
    """These rows, and all other rows of the same patients, with their documents.

    A release that adds to a standing release also has the rows of the other parts beside its own.
    """
    all_rows = ReleasedNote.objects.select_related("document").order_by("id").defer("text", "spans", "exceptions")
    rows = list(all_rows.filter(release=release, pk__in=ids))
    first = release.continues_id or release.pk
    all_rows = all_rows.filter(Q(release=first) | Q(release__continues=first))
    patients = {row.document.patient_id for row in rows} - {""}
    siblings: list[ReleasedNote] = []
    if patients:
        others = all_rows.filter(document__project=release.project_id, document__patient_id__in=patients)
        siblings = list(others.exclude(pk__in=ids))
    return rows, siblings


def retried(work: Callable[[], T]) -> T:
    """Do work anew as long as notes are erased meanwhile. Raises ServiceError `busy` after some tries."""
    for _try in range(TRIES):
        with suppress(*MEANWHILE):
            return work()
    message = _("Notes of this project are still being erased. Wait until the erasure has finished, then start again.")
    raise ServiceError(message, code="busy")


MEANWHILE = (ErasedMeanwhile, GoneMeanwhile)
