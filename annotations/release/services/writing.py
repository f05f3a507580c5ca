"""Store prepared notes and their findings, in the caller's transaction."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence

from annotations.core.bulk import update_rows
from annotations.core.sealing import project_key
from annotations.core.spans import stored
from annotations.models import Document, LeakFinding, Release, ReleasedNote, ReleasedNoteState
from annotations.release.rules.redaction.offsets import span_to_original, span_to_released
from annotations.release.rules.redaction.released import Released
from annotations.release.services.preparing import Prepared, PreparedFinding
from annotations.release.services.replacing import Extra
from annotations.text.spans import Bounds

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


def store_prepared(release: Release, rows: Sequence[ReleasedNote], prepared: Sequence[Prepared]) -> None:
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
            mark = _mark(found)
            if mark not in known:
                finding = _finding(row, found)
                added.append(finding)
            elif _again(finding := known.pop(mark), found):
                changed.append(finding)
            held[row.pk] = held.get(row.pk, False) or not finding.decision
        for finding in known.values():
            if finding.origin == Origin.AUDIT:  # A person has found it, and only a person decides about it.
                finding.start, finding.end = _bounds_after(finding, one.released)
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


def _bounds_after(finding: LeakFinding, released: Released) -> tuple[int, int]:
    """Where the original bounds of a finding are in a new text; as before, if nothing is there."""
    start, end = span_to_released(released.pieces, finding.original_start, finding.original_end)
    return (start, end) if start < end else (finding.start, finding.end)


def mark_of(finding: LeakFinding) -> Mark:
    return str(finding.where), finding.original_start, finding.original_end, finding.string_key


def _mark(found: PreparedFinding) -> Mark:
    return str(found.where), found.original_start, found.original_end, found.string_key


def _again(finding: LeakFinding, found: PreparedFinding) -> bool:
    """Move a finding to its place in the new text. Return whether anything changed.

    Names and attributes stay as they are in the original, so a finding there is always found again.
    """
    before = (finding.start, finding.end, finding.decision)
    finding.start, finding.end = found.start, found.end
    if finding.decision == Answer.REPLACE and finding.where == Where.TEXT:
        finding.decision, finding.decided_by, finding.decided_at = "", None, None
    return before != (finding.start, finding.end, finding.decision)


def _finding(row: ReleasedNote, found: PreparedFinding) -> LeakFinding:
    return LeakFinding(
        note=row,
        where=found.where,
        start=found.start,
        end=found.end,
        original_start=found.original_start,
        original_end=found.original_end,
        origin=found.origin,
        part=found.part,
        label=found.label,
        source_id=found.document,
        source_start=found.source_start,
        source_end=found.source_end,
        string_key=found.string_key,
    )


def _fill(row: ReleasedNote, one: Prepared, bare: Collection[Bounds]) -> None:
    """Fill in a row. `bare`: the bounds in the original of spans whose attributes a decision removes."""
    row.text = one.released.text
    row.sha256 = one.sha256
    row.spans = [
        [start, end, label, stored(attributes)]
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
