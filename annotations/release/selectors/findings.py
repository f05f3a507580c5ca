"""Findings of the leak gate for their page: grouped by string, each in its sentence of the released text."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from django.db.models import Count, F, Min, Q, QuerySet
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from annotations.core.spans import pairs_of
from annotations.models import Document, LeakFinding, Release
from annotations.notes.selectors.in_context import InSentence, LabelLook, in_sentence, label_looks, line_at
from annotations.release.rules.redaction.policy import Action
from annotations.release.rules.redaction.released import ReplacedPiece, span_to_released
from annotations.release.selectors.releases import leak_counts
from annotations.text.attributes import as_text
from annotations.text.segments import BREAK
from annotations.text.spans import Bounds

# An original and its released text beside each other, line by line, with the stretches that correspond.
#
# Between the replaced stretches both texts are equal. So a line break outside of them is in both, and ends a row.


@dataclass(frozen=True, slots=True)
class MarkedFinding:
    """A finding of the leak gate in the released text. `pk` is 0 in a preview, which stores nothing."""

    start: int
    end: int
    pk: int = 0
    decision: str = ""


@dataclass(frozen=True, slots=True)
class Bit:
    """A part of a line: plain text, or a stretch (`piece` is its number), or a finding, or both."""

    text: str
    piece: int | None = None
    action: Action | None = None
    look: LabelLook | None = None
    finding: MarkedFinding | None = None
    last: bool = True


@dataclass(frozen=True, slots=True)
class SideBySideLine:
    """A line, or several lines that a stretch joins. `number` is that of the first line, in the original.

    `same`: nothing in the row was replaced or found.
    """

    number: int
    same: bool
    before: Sequence[Bit]
    after: Sequence[Bit]


def stored_pieces(rows: Iterable[Sequence[int | str]]) -> list[ReplacedPiece]:
    """Pieces as ReleasedNote.pieces stores them."""
    return [
        ReplacedPiece(int(start), int(end), int(new_start), int(new_end), str(label), Action(str(action)))
        for start, end, new_start, new_end, label, action in rows
    ]


def stored_findings(findings: Iterable[LeakFinding], pieces: Sequence[ReplacedPiece]) -> list[MarkedFinding]:
    """Findings in the released text with these pieces, for display: what was replaced is marked in its new form."""
    marks = []
    for finding in findings:
        start, end = _bounds(finding, pieces)
        if finding.where == LeakFinding.Where.TEXT and start < end:
            marks.append(MarkedFinding(start, end, finding.pk, finding.decision))
    return sorted(marks, key=lambda mark: (mark.start, mark.end))


def _bounds(finding: LeakFinding, pieces: Sequence[ReplacedPiece]) -> Bounds:
    """Where a finding is now: in the released text with these pieces, the note's name, or the attributes."""
    if (finding.where, finding.decision) == (LeakFinding.Where.TEXT, LeakFinding.Answer.REPLACE):
        return span_to_released(pieces, finding.original_start, finding.original_end)
    return finding.start, finding.end


def beside(
    text: str,
    released: str,
    pieces: Sequence[ReplacedPiece],
    findings: Sequence[MarkedFinding] = (),
    *,
    looks: Mapping[str, LabelLook],
) -> list[SideBySideLine]:
    """The rows of both texts. Offsets are code points, end-exclusive; pieces are in order and don't overlap."""
    marks = sorted(findings, key=lambda one: (one.start, one.end))
    rows: list[SideBySideLine] = []
    before: list[Bit] = []
    after: list[Bit] = []
    at, new_at, begun, number = 0, 0, 0, 1
    for place, piece in enumerate((*pieces, None)):
        stop = piece.start if piece else len(text)
        for found in (*BREAK.finditer(text, at, stop), None):
            end, past = found.span() if found else (stop, stop)
            before += _cut(text, at, end, ())
            after += _cut(released, new_at, new_at + end - at, marks)
            at, new_at = past, new_at + past - at
            if found or piece is None:
                same = all(bit.piece is None and bit.finding is None for bit in after)
                rows.append(SideBySideLine(number, same, before, after))
                number += sum(1 for _break in BREAK.finditer(text, begun, at))
                before, after, begun = [], [], at
        if piece:
            look = looks.get(piece.label) or LabelLook(piece.label, piece.label)
            inside = _cut(released, piece.new_start, piece.new_end, marks) or [Bit("")]
            before.append(Bit(text[piece.start : piece.end], place, piece.action, look))
            after += [Bit(one.text, place, piece.action, look, one.finding, one is inside[-1]) for one in inside]
            at, new_at = piece.end, piece.new_end
    return rows


def _cut(text: str, start: int, end: int, findings: Sequence[MarkedFinding]) -> list[Bit]:
    """`text[start:end]`, cut where a finding begins or ends. Of overlapping findings, the first is shown."""
    bits: list[Bit] = []
    at = start
    for finding in findings:
        low, high = max(finding.start, at), min(finding.end, end)
        if low >= high:
            continue
        if low > at:
            bits.append(Bit(text[at:low]))
        bits.append(Bit(text[low:high], finding=finding))
        at = high
    if at < end:
        bits.append(Bit(text[at:end]))
    return bits


SHOWN, OF_STRING = 20, 50
"""Findings of one string: on the list of strings, and on each page of the string."""
FILTER_NAMES = {"open": _("Open"), "decided": _("Decided"), "all": _("All")}
FILTERS = tuple(FILTER_NAMES)


@dataclass(frozen=True)
class FindingInSentence(InSentence):
    """A finding in its sentence: of the released text or, once it is replaced there, of the original.

    `start` and `end` are its bounds in the released text, the note's name, or the attributes; equal if nothing is left.
    `source_line` and `source_at` say where the string is labeled in the note `source_name`; empty if that is unknown.
    """

    finding: LeakFinding
    start: int
    end: int
    name: str
    language: str
    source_name: str
    source_line: int | None
    source_at: str
    decided_by: str

    @property
    def note(self) -> int:
        """The id of the original note."""
        return self.finding.note.document_id


@dataclass(frozen=True)
class FindingGroup:
    """All findings of one string. `key` is its keyed hash; `look` that of the label that the string has elsewhere.

    `unlabeled`: how many open ones need a label whose placeholder replaces them.
    """

    key: int
    count: int
    open: int
    replaced: int
    unlabeled: int
    look: LabelLook | None
    text: str = ""
    shown: Sequence[FindingInSentence] = field(default_factory=list)

    @property
    def more(self) -> int:
        return self.count - len(self.shown)

    @property
    def decided(self) -> int:
        return self.count - self.open

    @property
    def allowed(self) -> int:
        return self.decided - self.replaced


def findings_of(release: Release) -> QuerySet[LeakFinding]:
    return LeakFinding.objects.filter(note__release=release)


def finding_counts(release: Release) -> dict[str, int]:
    """The number of findings by filter."""
    found = leak_counts(release)
    return {"open": found["open"], "decided": found["found"] - found["open"], "all": found["found"]}


def passing(rows: QuerySet[LeakFinding], chosen: str) -> QuerySet[LeakFinding]:
    """The findings that pass a filter."""
    if chosen == "open":
        return rows.filter(decision="")
    return rows.exclude(decision="") if chosen == "decided" else rows


def string_keys(release: Release, chosen: str) -> QuerySet[LeakFinding, int]:
    """The keys of the strings that pass a filter, in the order in which the gate found them."""
    rows = passing(findings_of(release).order_by(), chosen)
    return rows.values("string_key").annotate(first=Min("pk")).order_by("first").values_list("string_key", flat=True)


def groups_of(release: Release, keys: Sequence[int], *, most: int = SHOWN, after: int = 0) -> list[FindingGroup]:
    """The groups with these keys, in this order, each with at most `most` findings `after` so many."""
    unlabeled = Q(decision="", where=LeakFinding.Where.TEXT) & ~Q(label__in=release.policy.rules)
    strings = findings_of(release).filter(string_key__in=keys).order_by().values(key=F("string_key"))
    counts = {
        row["key"]: row
        for row in strings.annotate(
            count=Count("pk"),
            open=Count("pk", filter=Q(decision="")),
            replaced=Count("pk", filter=Q(decision="replace")),
            unlabeled=Count("pk", filter=unlabeled),
        )
    }
    found = {key: _some(release, key, most, after) for key in keys if key in counts}
    shown = in_context([finding for rows in found.values() for finding in rows])
    looks = label_looks(release.project)
    groups = []
    for key, rows in found.items():
        label = next((one.label for one in rows if one.label), "")
        entries = [shown[one.pk] for one in rows if one.pk in shown]
        look = looks.get(label) or (LabelLook(label, label) if label else None)
        text = entries[0].marked if entries else ""
        groups.append(FindingGroup(**counts[key], look=look, text=text, shown=entries))
    return groups


def _some(release: Release, key: int, most: int, after: int) -> list[LeakFinding]:
    rows = findings_of(release).filter(string_key=key).select_related("decided_by", "note__document")
    if most < OF_STRING:
        # The list shows open findings before decided ones. A decision changes no order among those shown.
        return sorted(rows.order_by("decision", "pk")[:most], key=lambda finding: finding.pk)
    return list(rows.order_by("pk")[after : after + most])


def in_context(findings: Iterable[LeakFinding]) -> dict[int, FindingInSentence]:
    """The findings in their sentences, by id. Their notes with texts, and who decided, must be loaded."""
    rows = list(findings)
    sources = Document.objects.filter(pk__in={finding.source_id for finding in rows if finding.source_id})
    texts = {pk: (name, text) for pk, name, text in sources.values_list("pk", "name", "text")}
    return {finding.pk: _shown(finding, texts) for finding in rows}


def _shown(finding: LeakFinding, sources: dict[int, tuple[str, str]]) -> FindingInSentence:
    note = finding.note
    text, start, end = _where(finding)
    source_name, source_text = sources.get(finding.source_id or 0, ("", ""))
    placed = bool(source_text) and finding.source_start is not None and finding.source_end is not None
    in_text = finding.where == LeakFinding.Where.TEXT
    sentence = in_sentence(text, start, end) if in_text else (text[:start], text[start:end], text[end:], False, False)
    now = _bounds(finding, stored_pieces(note.pieces))
    return FindingInSentence(
        *sentence,
        finding=finding,
        start=now[0],
        end=now[1],
        name=note.document.name,
        language=note.document.language if in_text else "",
        source_name=source_name,
        source_line=line_at(source_text, finding.source_start or 0) if placed else None,
        source_at=f"{finding.source_start}-{finding.source_end}" if placed else "",
        decided_by=finding.decided_by.username if finding.decided_by else "",
    )


def _where(finding: LeakFinding) -> tuple[str, int, int]:
    """The text in which to show a finding, and its bounds there: once it is replaced, the original."""
    note = finding.note
    if finding.where == LeakFinding.Where.NAME:
        return note.document.name, finding.start, finding.end
    if finding.where == LeakFinding.Where.ATTRIBUTE:
        placed, _end = span_to_released(stored_pieces(note.pieces), finding.original_start, finding.original_end)
        line = next(
            (as_text(pairs_of(more[0])) for start, _end, _label, *more in note.spans if start == placed and more), ""
        )
        return line or gettext("attributes left out"), finding.start, finding.end
    if finding.decision == LeakFinding.Answer.REPLACE:
        return note.document.text, finding.original_start, finding.original_end
    return note.text, finding.start, finding.end
