"""The count-based score of rewritten text (000, section 4.3): how often texts occur, never where.

A gold text is gone as often as its occurrences dropped (true positives), and left as often as it still occurs (false
negatives); placeholders beyond the number of gold spans are too many (false positives). What counts as an occurrence:

* Exactly the same characters, case too, and whole tokens: an age of 5 doesn't occur in 15. Where gold itself marks a
  text inside a token, that end of it may lie inside tokens everywhere.
* Of overlapping occurrences of several gold texts the longest counts alone (a "Rossi" inside "Mario Rossi" is none of
  its own), unless gold marks the one over the other.
* Nothing inside a placeholder. Placeholders that the original had are not the rewriting's.
"""

import re
from array import array
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from annotations.domain.scoring.rates import Rates
from annotations.domain.spans import Span
from annotations.domain.tokens import Parts


@dataclass(frozen=True, slots=True)
class Counts:
    """`gold`: spans; `unmarked`: occurrences in the original that gold doesn't mark, which count all the same.

    `placeholders`: those that the rewriting brought in.
    """

    gone: int = 0
    left: int = 0
    excess: int = 0
    gold: int = 0
    unmarked: int = 0
    placeholders: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(
            self.gone + other.gone,
            self.left + other.left,
            self.excess + other.excess,
            self.gold + other.gold,
            self.unmarked + other.unmarked,
            self.placeholders + other.placeholders,
        )

    def as_dict(self) -> dict[str, Any]:
        rates = Rates.paired(self.gone, self.gone + self.excess, self.gone + self.left)
        return {
            "tp": self.gone,
            "fn": self.left,
            "fp": self.excess,
            "precision": rates.precision,
            "recall": rates.recall,
            "f1": rates.f1,
            "gold": self.gold,
            "unmarked": self.unmarked,
            "placeholders": self.placeholders,
        }


def counts_of(
    original: str, rewritten: str, gold: Iterable[Span], placeholder_of: Mapping[str, str]
) -> dict[str, Counts]:
    """One note's counts by label, of the labels that gold or the rewritten text have.

    `placeholder_of` names all labels in their order. Labels that share a placeholder, and labels that have the same
    text, can't be told apart by counting: what is too many is the first label's; what is left is the label's that
    lacks most placeholders.
    """
    places = sorted({(span.start, span.end, span.label) for span in gold})
    marks = Counter(label for _, _, label in places)
    brought = _brought(original, rewritten, placeholder_of)
    sharing: dict[str, list[str]] = defaultdict(list)
    for label, placeholder in placeholder_of.items():
        sharing[placeholder].append(label)
    found: dict[str, Counts] = {label: Counts(gold=n) for label, n in marks.items()}
    lacking = dict.fromkeys(placeholder_of, 0)
    for placeholder, labels in sharing.items():
        n, wanted = brought[placeholder], sum(marks[label] for label in labels)
        lacking |= dict.fromkeys(labels, wanted - n)
        if n:
            found[labels[0]] = found.get(labels[0], Counts()) + Counts(placeholders=n, excess=max(0, n - wanted))
    texts = _texts(original, places)
    holes = _pattern(placeholder_of.values())
    before, after = _occurrences(original, texts, holes), _occurrences(rewritten, texts, holes)
    order = {label: at for at, label in enumerate(placeholder_of)}
    for text in texts:
        labels = sorted(text.labels, key=lambda label: (-lacking[label], order[label]))
        for label, one in _shared(text.labels, labels, before[text.quote], after[text.quote]).items():
            found[label] += one
    return {label: found[label] for label in placeholder_of if label in found}


class RewrittenScore:
    """`add` notes, then `as_dict`: counts, precision, recall and F1 by label and over all labels."""

    def __init__(self, placeholder_of: Mapping[str, str]) -> None:
        self._placeholder_of = placeholder_of
        self._counts: dict[str, Counts] = {}

    def add(self, original: str, rewritten: str, gold: Iterable[Span]) -> dict[str, Counts]:
        """Count one note; its counts by label."""
        found = counts_of(original, rewritten, gold, self._placeholder_of)
        for label, counts in found.items():
            self._counts[label] = self._counts.get(label, Counts()) + counts
        return found

    def as_dict(self) -> dict[str, Any]:
        return {
            "micro": sum(self._counts.values(), Counts()).as_dict(),
            "labels": [
                {"label": label} | self._counts[label].as_dict()
                for label in self._placeholder_of
                if label in self._counts
            ],
        }


@dataclass(slots=True)
class _Text:
    """A gold text: how often each label has it, which of its ends may lie in a token, over which texts it counts."""

    quote: str
    labels: Counter[str] = field(default_factory=Counter)
    loose_start: bool = False
    loose_end: bool = False
    over: set[str] = field(default_factory=set)


def _texts(original: str, places: Sequence[tuple[int, int, str]]) -> list[_Text]:
    """The gold texts, longest first."""
    parts = Parts(original)
    found: dict[str, _Text] = {}
    reach: list[tuple[int, int, str]] = []
    for start, end, label in places:
        quote = original[start:end]
        text = found.setdefault(quote, _Text(quote))
        text.labels[label] += 1
        text.loose_start = text.loose_start or parts.inside_token(start)
        text.loose_end = text.loose_end or parts.inside_token(end)
        reach = [other for other in reach if other[1] > start]
        for _, _, other in reach:
            if other != quote:
                text.over.add(other)
                found[other].over.add(quote)
        reach.append((start, end, quote))
    return sorted(found.values(), key=lambda text: (-len(text.quote), text.quote))


def _occurrences(text: str, wanted: Sequence[_Text], holes: "re.Pattern[str] | None") -> Counter[str]:
    """How often each wanted text occurs; `wanted` longest first, `holes` finds placeholders."""
    parts = Parts(text)
    hidden = [match.span() for match in holes.finditer(text)] if holes else []
    owners = array("I", bytes(4 * len(text)))
    numbers = {one.quote: number for number, one in enumerate(wanted, start=1)}
    found: Counter[str] = Counter()
    for one in wanted:
        size, own = len(one.quote), array("I", [numbers[one.quote]])
        allowed = {0, *(numbers[other] for other in one.over)}
        at = text.find(one.quote)
        while at >= 0:
            end = at + size
            whole = (one.loose_start or not parts.inside_token(at)) and (one.loose_end or not parts.inside_token(end))
            if whole and allowed.issuperset(owners[at:end]) and not _inside(hidden, at, end):
                found[one.quote] += 1
                owners[at:end] = own * size
                at = text.find(one.quote, end)
            else:
                at = text.find(one.quote, at + 1)
    return found


def _inside(hidden: Sequence[tuple[int, int]], start: int, end: int) -> bool:
    """Whether the stretch is a part of a placeholder; a whole one isn't."""
    at = bisect_right(hidden, start, key=lambda hole: hole[0])
    return at > 0 and end <= hidden[at - 1][1] and (start, end) != hidden[at - 1]


def _pattern(placeholders: Iterable[str]) -> "re.Pattern[str] | None":
    """Finds placeholders; where one begins with another, the longer."""
    known = sorted(filter(None, set(placeholders)), key=lambda one: (-len(one), one))
    return re.compile("|".join(map(re.escape, known))) if known else None


def _brought(original: str, rewritten: str, placeholder_of: Mapping[str, str]) -> Counter[str]:
    """How many more of each placeholder the rewritten text has."""
    pattern = _pattern(placeholder_of.values())
    if pattern is None:
        return Counter()
    return Counter(pattern.findall(rewritten)) - Counter(pattern.findall(original))


def _shared(marks: Mapping[str, int], labels: Sequence[str], before: int, after: int) -> dict[str, Counts]:
    """A text's occurrences before and after among the labels that have it; the first takes what gold doesn't mark."""
    unmarked = max(0, before - sum(marks.values()))
    found, had, left = {}, before - unmarked, after
    for at, label in enumerate(labels):
        share = min(marks[label], had)
        had -= share
        share += unmarked if at == 0 else 0
        stays = min(share, left)
        left -= stays
        found[label] = Counts(gone=share - stays, left=stays, unmarked=unmarked if at == 0 else 0)
    # More than there were: the rewriting wrote some anew.
    found[labels[0]] += Counts(left=left)
    return found
