"""Gold versions: statistics, differences, splits by patient."""

import hashlib
import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Any, Final

from annotations.text.bio import encode, split_tag
from annotations.text.matching import match
from annotations.text.spans import Parts, Span, Tokenizer, covered, split_at, tokenize
from annotations.text.wording import NamedValue, WordedError, gettext_noop


class Split(StrEnum):
    """Which models learn from a note (train), are tuned on it (dev) or are scored on it (test)."""

    TRAIN = "train"
    DEV = "dev"
    TEST = "test"


class SplitError(WordedError, ValueError):
    """Invalid shares of a split. The message is a sentence that says what is wrong and what is allowed."""


@dataclass(frozen=True, slots=True)
class Patient:
    """The number of notes and gold spans of one patient. A note without a patient counts as a patient of its own."""

    key: str
    notes: int
    spans: int = 0


Shares = Mapping[Split, int]
"""The percentage of notes for each split."""

# A patient who was ever in test stays there, even if two patients turn out to be the same person.
_STRICTEST: Final = (Split.TEST, Split.DEV, Split.TRAIN)
_ROUNDS: Final = 10_000


def check_shares(shares: Mapping[str, int]) -> dict[Split, int]:
    """The shares of all three splits. Raises SplitError unless they are whole percentages that add up to 100."""
    if unknown := set(shares) - set(Split):
        names = ", ".join(f"“{name}”" for name in sorted(map(str, unknown)))
        raise SplitError("The shares name unknown splits: {names}. The splits are {splits}.", names, ", ".join(Split))
    found = {split: shares.get(split, 0) for split in Split}
    if any(share < 0 for share in found.values()) or sum(found.values()) != 100:
        given = ", ".join(f"{split} {share}" for split, share in found.items())
        raise SplitError("The shares must be whole percentages that add up to 100, not {given}.", given)
    if not found[Split.TRAIN]:
        raise SplitError("The share of train must be above 0.")
    return found


def strictest(splits: Iterable[Split]) -> Split:
    """The split for a patient whose notes were in several splits: test before dev before train."""
    given = set(splits)
    return next(split for split in _STRICTEST if split in given)


def split_patients(
    patients: Iterable[Patient], *, seed: str, shares: Shares, kept: Mapping[str, Split] | None = None
) -> dict[str, Split]:
    """Assign every patient, by key, to a split, so that the numbers of notes come as near to the shares as possible.

    Patients in `kept` keep their split. The others are assigned the largest first, in an order that depends on the
    seed, each to the split that lacks most notes (then most spans). Then patients are moved or swapped as long as that
    brings the numbers of notes nearer to the shares.
    """
    given = sorted(patients, key=lambda patient: (-patient.notes, _rank(seed, patient.key)))
    if len({patient.key for patient in given}) != len(given):
        raise ValueError("The list contains a patient twice.")
    splits = dict(kept or {})
    room = _Room(given, shares)
    free: list[Patient] = []
    for patient in given:
        if patient.key in splits:
            room.put(patient, splits[patient.key])
        else:
            free.append(patient)
    found = {patient.key: splits[patient.key] for patient in given if patient.key in splits}
    members_of: dict[tuple[Split, int], list[Patient]] = defaultdict(list)
    for patient in free:
        split = room.emptiest()
        room.put(patient, split)
        members_of[split, patient.notes].append(patient)
    _improve(room, members_of)
    for (split, _notes), members in members_of.items():
        found.update((patient.key, split) for patient in members)
    return found


def _rank(seed: str, key: str) -> bytes:
    return hashlib.sha256(f"{seed}\0{key}".encode()).digest()


class _Room:
    """How many notes and spans each split still lacks."""

    def __init__(self, patients: Sequence[Patient], shares: Shares) -> None:
        notes, spans = sum(p.notes for p in patients), sum(p.spans for p in patients)
        self.splits = [split for split in Split if shares.get(split, 0) > 0]
        # Counted in hundredths of a note, so that all sums are whole numbers.
        self.wanting = {split: notes * shares.get(split, 0) for split in Split}
        self._spans = {split: spans * shares.get(split, 0) for split in Split}

    def put(self, patient: Patient, split: Split) -> None:
        self.wanting[split] -= 100 * patient.notes
        self._spans[split] -= 100 * patient.spans

    def emptiest(self) -> Split:
        return max(self.splits, key=lambda split: (self.wanting[split], self._spans[split]))

    def gain(self, giver: Split, taker: Split, notes: int) -> int:
        """How much the sum of squared distances from the shares drops if `notes` notes move from giver to taker."""
        moved = 100 * notes
        before = self.wanting[giver] ** 2 + self.wanting[taker] ** 2
        return before - (self.wanting[giver] + moved) ** 2 - (self.wanting[taker] - moved) ** 2


def _improve(room: _Room, members_of: dict[tuple[Split, int], list[Patient]]) -> None:
    """Make the best move of a patient, or the best swap of two, until neither helps."""
    for _ in range(_ROUNDS):
        best = max(_steps(room, members_of), default=None)
        if best is None or best[0] <= 0:
            return
        _, giver, given, taker, taken = best
        moving = members_of[giver, given].pop()
        if taken:
            back = members_of[taker, taken].pop()
            room.put(back, giver)
            room.put(Patient("", -back.notes, -back.spans), taker)
            members_of[giver, taken].append(back)
        room.put(moving, taker)
        room.put(Patient("", -moving.notes, -moving.spans), giver)
        members_of[taker, given].append(moving)


def _steps(
    room: _Room, members_of: Mapping[tuple[Split, int], list[Patient]]
) -> Iterable[tuple[int, Split, int, Split, int]]:
    """All possible moves and swaps: gain, giver, notes of the moving patient, taker, notes of the swapped one or 0."""
    sizes = {
        split: sorted(size for (where, size), members in members_of.items() if where == split and members)
        for split in Split
    }
    for giver in room.splits:
        for taker in room.splits:
            if giver == taker:
                continue
            for given in sizes[giver]:
                for taken in [0, *sizes[taker]]:
                    if given > taken:
                        yield room.gain(giver, taker, given - taken), giver, given, taker, taken


# Corpus statistics: tokens and spans of notes by label, as in tables 3.1 to 3.3 of Catelli 2021.
#
# Tokens are those of the default rule or of a tokenizer, split at the start and end of every span of the note, as in
# BIO tags. The BIO tags themselves are counted as in table 6 of Salierno et al. 2024.


@dataclass
class CorpusPart:
    """A part of a corpus, for example its training notes. `begin`, `inside`: tokens with the tags B and I.

    `spans` and `in_spans` count spans, and the tokens in them, by label. A token in two overlapping spans counts in
    both.
    """

    notes: int = 0
    tokens: int = 0
    begin: int = 0
    inside: int = 0
    spans: Counter[str] = field(default_factory=Counter)
    in_spans: Counter[str] = field(default_factory=Counter)

    def __add__(self, other: "CorpusPart") -> "CorpusPart":
        return CorpusPart(**{name: value + getattr(other, name) for name, value in vars(self).items()})

    def add_note(self, text: str, spans: Iterable[Span], tokenizer: Tokenizer | None = None) -> None:
        """Count a note. Without a tokenizer, tokens are those of the default rule."""
        own = sorted(spans)
        tokens, in_spans = _by_rule(text, own) if tokenizer is None else _by(tokenizer, text, own)
        self.notes += 1
        self.tokens += tokens
        for span, n in zip(own, in_spans, strict=True):
            self.spans[span.label] += 1
            self.in_spans[span.label] += n
        if all(before.end <= after.start for before, after in pairwise(own)):
            begin = sum(n > 0 for n in in_spans)
            self.begin += begin
            self.inside += sum(in_spans) - begin
        else:  # One label per token: only the encoder knows which span has it.
            marks = Counter(split_tag(tag)[0] for tag in encode(text, own, tokenizer=tokenizer or tokenize).tags)
            self.begin += marks["B"]
            self.inside += marks["I"]

    @property
    def outside(self) -> int:
        """Tokens with the tag O."""
        return self.tokens - self.begin - self.inside

    def per_note(self, n: int) -> float | None:
        """The mean over the notes; None without notes."""
        return n / self.notes if self.notes else None


def _by_rule(text: str, spans: Sequence[Span]) -> tuple[int, list[int]]:
    """The tokens of the text and of each span, by the default rule, without creating them."""
    parts = Parts(text)
    edges = {edge for span in spans for edge in (span.start, span.end)}
    cuts = sorted(edge for edge in edges if parts.inside_token(edge))
    return parts.whole(edges), [
        parts.count(span.start, span.end) + bisect_left(cuts, span.end) - bisect_right(cuts, span.start)
        for span in spans
    ]


def _by(tokenizer: Tokenizer, text: str, spans: Sequence[Span]) -> tuple[int, list[int]]:
    """The tokens of the text and of each span, by a tokenizer."""
    tokens = split_at(tokenizer(text), (edge for span in spans for edge in (span.start, span.end)))
    ranges = (covered(tokens, span.start, span.end) for span in spans)
    return len(tokens), [past - first for first, past in ranges]


def part_of(data: Mapping[str, Any]) -> CorpusPart:
    """The part whose values were stored as JSON."""
    return CorpusPart(**{**data, **{name: Counter(data[name]) for name in ("spans", "in_spans")}})


# Ready-made splits: lines that assign notes, by name or by pattern, to train, dev or test.


_LINE: Final = re.compile(r"(?P<name>.*\S)\s*[\t,;\s]\s*(?P<split>\S+)")
_SHOWN: Final = 80


@dataclass(frozen=True)
class Assignment:
    """A line of a ready-made split: a note's name, or a pattern with `*`, and its split."""

    line: int
    name: str
    split: Split


def read_assignments(text: str) -> list[Assignment]:
    """Read lines such as `train/note-1.txt, train` or `dev/*<tab>dev`. Empty lines and those with # first are skipped.

    Raises SplitError, which names the line.
    """
    found: list[Assignment] = []
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), 1):
        stripped = line.strip()
        if not stripped or stripped.startswith("#"):
            continue
        match = _LINE.fullmatch(stripped)
        if match is None:
            raise SplitError(
                "Line {number}: “{text}” has no split. Write the note's name, a comma and the split.",
                *(number, stripped[:_SHOWN]),
            )
        name, split = match["name"].rstrip(",;\t ").strip('"'), match["split"].strip('"').lower()
        if split not in set(Split):
            raise SplitError(
                "Line {number}: “{split}” is not a split for “{name}”. Choose one of: {splits}.",
                *(number, split[:_SHOWN], name[:_SHOWN], ", ".join(Split)),
            )
        found.append(Assignment(number, name, Split(split)))
    if not found:
        raise SplitError("The split is empty. Write one line for each note or pattern.")
    return found


def assigned(assignments: Iterable[Assignment], notes: Iterable[str]) -> dict[str, Assignment]:
    """Return the line for each note. A line with the note's name comes before one with a pattern.

    Raises SplitError for a line without a note, a note without a line, and a note in two splits.
    """
    known = list(notes)
    names, lines = set(known), list(assignments)
    exact: dict[str, Assignment] = {}
    matched: dict[str, Assignment] = {}
    for each in lines:
        if each.name in names:
            _put(exact, each.name, each)
        elif "*" not in each.name:
            raise SplitError("Line {line}: this version has no note “{name}”.", each.line, each.name[:_SHOWN])
        else:
            found = [name for name in known if fnmatchcase(name, _pattern(each.name))]
            if not found:
                raise SplitError("Line {n}: no note of this version matches “{name}”.", each.line, each.name[:_SHOWN])
            for name in found:
                _put(matched, name, each)
    both = matched | exact
    if without := [name for name in known if name not in both]:
        raise SplitError(
            "{count} of {notes} notes have no split, the first one is “{name}”. Add a line.",
            *(len(without), len(known), without[0][:_SHOWN]),
        )
    return both


def _pattern(text: str) -> str:
    """Only `*` has a meaning; names may contain brackets and question marks."""
    return re.sub(r"([?\[])", r"[\1]", text)


def _put(found: dict[str, Assignment], name: str, line: Assignment) -> None:
    before = found.setdefault(name, line)
    if before.split is not line.split:
        raise SplitError(
            "Line {line}: the note “{name}” is in {split} already, by line {earlier}.",
            *(line.line, name[:_SHOWN], before.split, before.line),
        )


def whole_shares(counts: Mapping[Split, int]) -> dict[Split, int]:
    """The share of each split in whole percent, by largest remainders, so that they add up to 100."""
    total = sum(counts.values())
    exact = {split: 100 * counts.get(split, 0) / total for split in Split}
    shares = {split: int(share) for split, share in exact.items()}
    for split in sorted(Split, key=lambda split: shares[split] - exact[split])[: 100 - sum(shares.values())]:
        shares[split] += 1
    return shares


# Differences between two gold versions, note by note.


class ChangeKind(NamedValue):
    """How a span changed: a moved span has new bounds, a relabeled one a new label, a replaced one both.

    `attributes`: only the span's attributes changed.
    """

    ADDED = "added", gettext_noop("Added")
    REMOVED = "removed", gettext_noop("Removed")
    RELABELED = "relabeled", gettext_noop("Different label")
    MOVED = "moved", gettext_noop("Different bounds")
    REPLACED = "replaced", gettext_noop("Different label and bounds")
    ATTRIBUTES = "attributes", gettext_noop("Different attributes")


@dataclass(frozen=True, slots=True)
class GoldChange:
    kind: ChangeKind
    before: Span | None
    after: Span | None

    @property
    def start(self) -> int:
        return min(span.start for span in (self.before, self.after) if span)

    @property
    def end(self) -> int:
        return max(span.end for span in (self.before, self.after) if span)


def diff(before: Iterable[Span], after: Iterable[Span]) -> list[GoldChange]:
    """The changes from one set of spans to another, in text order.

    Spans that differ and overlap are paired one to one by `text.matching`. A span that moved without overlapping its
    old bounds counts as one removed and one added.
    """
    old, new = ({span: span for span in spans} for spans in (before, after))
    gone, come = sorted(old.keys() - new.keys()), sorted(new.keys() - old.keys())
    pairs = match(come, gone)
    found = [GoldChange(_kind(gone[g], come[c]), gone[g], come[c]) for c, g in pairs]
    paired_c, paired_g = {c for c, _ in pairs}, {g for _, g in pairs}
    found += [GoldChange(ChangeKind.REMOVED, span, None) for at, span in enumerate(gone) if at not in paired_g]
    found += [GoldChange(ChangeKind.ADDED, None, span) for at, span in enumerate(come) if at not in paired_c]
    both = ((old[span], new[span]) for span in old.keys() & new.keys())
    found += [GoldChange(ChangeKind.ATTRIBUTES, *pair) for pair in both if pair[0].attributes != pair[1].attributes]
    return sorted(found, key=lambda change: (change.start, change.end, change.kind))


def _kind(before: Span, after: Span) -> ChangeKind:
    if (before.start, before.end) == (after.start, after.end):
        return ChangeKind.RELABELED
    return ChangeKind.MOVED if before.label == after.label else ChangeKind.REPLACED
