"""The count-based score of rewritten text (Miranda et al. 2025, section 4.3): how often texts occur, not where.

Occurrences of a gold text that the rewritten text no longer has are true positives; occurrences that remain are false
negatives; placeholders beyond the number of gold spans are false positives. The article counts plain substrings
(`substrings`). Here, an occurrence is stricter:

* An occurrence has exactly the same characters, with the same case, and consists of whole tokens: the age 5 doesn't
  occur in 15. If gold marks a text that starts or ends inside a token, all its occurrences may do so.
* Of overlapping occurrences of several gold texts only the longest counts ("Rossi" inside "Mario Rossi" doesn't count),
  unless gold itself has such overlapping spans.
* Text inside a placeholder doesn't count. Placeholders that the original text already has don't count, either.
"""

import re
from array import array
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypedDict

from annotations.scores.rules.rates import Rates
from annotations.text.spans import Parts, Span


class CountingRule(StrEnum):
    """How often a gold text occurs in a note.

    tokens: occurrences of whole tokens, of overlapping texts only the longest, outside placeholders (`rewritten`).
    substring: the plain string, wherever it is (Miranda et al. 2025, section 4.3; `substrings`).
    """

    TOKENS = "tokens"
    SUBSTRING = "substring"


class CountsData(TypedDict):
    """Counts in their JSON form."""

    tp: int
    fn: int
    fp: int
    precision: float | None
    recall: float | None
    f1: float | None
    gold: int
    unmarked: int
    placeholders: int


class LabelCounts(CountsData):
    label: str


class RewrittenData(TypedDict):
    micro: CountsData
    labels: list[LabelCounts]


Counts = Counter[str]
"""The counts of one label.

`removed`, `remaining`: occurrences of gold texts. `extra`: superfluous placeholders. `gold`: gold spans.
`unmarked`: occurrences in the original that gold doesn't mark, but that are counted nevertheless. `placeholders`:
placeholders that the rewriting added (`Counting.SUBSTRING`: all in the rewritten text).
"""


def _figures(counts: Counts) -> CountsData:
    removed, remaining, extra = counts["removed"], counts["remaining"], counts["extra"]
    rates = Rates.paired(removed, removed + extra, removed + remaining)
    return {
        "tp": removed,
        "fn": remaining,
        "fp": extra,
        "precision": rates.precision,
        "recall": rates.recall,
        "f1": rates.f1,
        "gold": counts["gold"],
        "unmarked": counts["unmarked"],
        "placeholders": counts["placeholders"],
    }


def placeholder_pattern(placeholders: Iterable[str]) -> re.Pattern[str]:
    """A pattern that finds placeholders, and the longer one if one is a prefix of another."""
    known = sorted(filter(None, set(placeholders)), key=lambda one: (-len(one), one))
    return re.compile("|".join(map(re.escape, known)) or "(?!)")


# The count-based score of rewritten text as published: plain substrings (Miranda et al. 2025, section 4.3).
#
# Each gold text with its label is counted on its own, as the article's program did: an age of 5 occurs in 15, and
# "Rossi" in "Mario Rossi". Placeholders are counted in the rewritten text, whether or not the original note already has
# them.


def substring_counts(
    original: str, rewritten: str, gold: Iterable[Span], placeholder_of: Mapping[str, str]
) -> dict[str, Counts]:
    """The counts of one note by label, for the labels in gold or with a placeholder in the rewritten text.

    Removed: by how much a text's occurrences decreased. Remaining: its occurrences in the rewritten text. Extra:
    placeholders beyond the gold spans of the labels that have them, assigned to the first of these labels.
    """
    spans = {(span.start, span.end, span.label) for span in gold}
    texts = Counter((label, original[start:end]) for start, end, label in spans)
    marks = Counter(label for _, _, label in spans)
    found = {label: Counts(gold=n) for label, n in marks.items()}
    for (label, quote), marked in texts.items():
        before, after = original.count(quote), rewritten.count(quote)
        found[label] += Counts(removed=max(0, before - after), remaining=after, unmarked=max(0, before - marked))
    added = Counter(placeholder_pattern(placeholder_of.values()).findall(rewritten))
    for label, one in _placeholders(added, marks, placeholder_of)[0].items():
        found[label] = found.get(label, Counts()) + one
    return {label: found[label] for label in placeholder_of if label in found}


def _placeholders(
    added: Counter[str], marks: Counter[str], placeholder_of: Mapping[str, str]
) -> tuple[dict[str, Counts], dict[str, int]]:
    """The counts of the added placeholders, at the first label of each, and how many placeholders each label lacks."""
    sharing: dict[str, list[str]] = defaultdict(list)
    for label, placeholder in placeholder_of.items():
        sharing[placeholder].append(label)
    found: dict[str, Counts] = {}
    lacking: dict[str, int] = {}
    for placeholder, labels in sharing.items():
        n, wanted = added[placeholder], sum(marks[label] for label in labels)
        lacking |= dict.fromkeys(labels, wanted - n)
        if n:
            found[labels[0]] = Counts(placeholders=n, extra=max(0, n - wanted))
    return found, lacking


def counts_of(
    original: str, rewritten: str, gold: Iterable[Span], placeholder_of: Mapping[str, str]
) -> dict[str, Counts]:
    """The counts of one note by label, for the labels in gold or in the rewritten text.

    `placeholder_of` contains all labels in label order. Counting can't distinguish labels with the same placeholder or
    with the same text: extra placeholders are assigned to the first such label, and remaining texts to the label that
    lacks most placeholders.
    """
    spans = sorted({(span.start, span.end, span.label) for span in gold})
    marks = Counter(label for _, _, label in spans)
    holes = placeholder_pattern(placeholder_of.values())
    added = Counter(holes.findall(rewritten)) - Counter(holes.findall(original))
    extra, lacking = _placeholders(added, marks, placeholder_of)
    found = {label: Counts(gold=marks[label]) + extra.get(label, Counts()) for label in {*marks, *extra}}
    texts = _texts(original, spans)
    before, after = _occurrences(original, texts, holes), _occurrences(rewritten, texts, holes)
    order = {label: at for at, label in enumerate(placeholder_of)}
    for text in texts:
        labels = sorted(text.labels, key=lambda label: (-lacking[label], order[label]))
        for label, one in _shared(text.labels, labels, before[text.quote], after[text.quote]).items():
            found[label] += one
    return {label: found[label] for label in placeholder_of if label in found}


class RewrittenScore:
    """Counts, precision, recall and F1 by label and over all labels, by each rule of counting.

    Call `add` for each note, then `as_dict`.
    """

    def __init__(self, placeholder_of: Mapping[str, str]) -> None:
        self._placeholder_of = placeholder_of
        self._counts: dict[CountingRule, dict[str, Counts]] = {rule: defaultdict(Counts) for rule in CountingRule}

    def add(self, original: str, rewritten: str, gold: Sequence[Span]) -> None:
        """Count one note."""
        for rule, count in ((CountingRule.TOKENS, counts_of), (CountingRule.SUBSTRING, substring_counts)):
            for label, counts in count(original, rewritten, gold, self._placeholder_of).items():
                self._counts[rule][label] += counts

    def as_dict(self, rule: CountingRule = CountingRule.TOKENS) -> RewrittenData:
        counts = self._counts[rule]
        return {
            "micro": _figures(sum(counts.values(), Counts())),
            "labels": [
                {"label": label, **_figures(counts[label])} for label in self._placeholder_of if label in counts
            ],
        }


@dataclass(slots=True)
class _Text:
    """A gold text: how often each label has it, whether its start or end may lie inside a token, and the gold texts
    that its occurrences may overlap (`over`).
    """

    quote: str
    labels: Counter[str] = field(default_factory=Counter)
    loose_start: bool = False
    loose_end: bool = False
    over: set[str] = field(default_factory=set)


def _texts(original: str, spans: Sequence[tuple[int, int, str]]) -> list[_Text]:
    """The gold texts, longest first."""
    parts = Parts(original)
    found: dict[str, _Text] = {}
    reach: list[tuple[int, int, str]] = []
    for start, end, label in spans:
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


def _occurrences(text: str, wanted: Sequence[_Text], holes: re.Pattern[str]) -> Counter[str]:
    """How often each wanted text occurs; `wanted` must have the longest first, `holes` finds placeholders."""
    parts = Parts(text)
    hidden = [match.span() for match in holes.finditer(text)]
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
    """Whether `start`-`end` is a proper part of a placeholder."""
    at = bisect_right(hidden, start, key=lambda hole: hole[0])
    return at > 0 and end <= hidden[at - 1][1] and (start, end) != hidden[at - 1]


def _shared(marks: Mapping[str, int], labels: Sequence[str], before: int, after: int) -> dict[str, Counts]:
    """Distribute a text's occurrences over its labels; occurrences that gold doesn't mark go to the first label."""
    unmarked = max(0, before - sum(marks.values()))
    found, had, remaining = {}, before - unmarked, after
    for at, label in enumerate(labels):
        share = min(marks[label], had)
        had -= share
        share += unmarked if at == 0 else 0
        stays = min(share, remaining)
        remaining -= stays
        found[label] = Counts(removed=share - stays, remaining=stays, unmarked=unmarked if at == 0 else 0)
    # There are more occurrences than before if the rewriting added some.
    found[labels[0]] += Counts(remaining=remaining)
    return found
