"""One injected error, where it comes from, and who caught it."""

import hashlib
import heapq
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from operator import attrgetter
from typing import Any, Final, Protocol

from annotations.formats.files.csv_files import RowError, csv_rows
from annotations.scores.rules.intervals import exact
from annotations.text.names import WordingError, worded
from annotations.text.spans import Span, tokenize
from annotations.text.wording import WordedError
from annotations.text.wording import gettext as _

Place = tuple[int, int, str]
"""Start, end and the code of the wrong label, in code points, end-exclusive."""


class Strategy(StrEnum):
    """How an error was made (Xu et al. 2026, section 5)."""

    RULE = "rule"
    SYSTEMIC = "systemic"
    LOG = "log"


@dataclass(frozen=True, slots=True, order=True)
class Injection:
    """An error in a note: the wrong span, and the label code that gold has at exactly its bounds.

    `start` and `end` are code points, end-exclusive. `was` is empty for a spurious span, which overlaps no gold.
    """

    start: int
    end: int
    label: str
    was: str
    rule: str
    strategy: Strategy = Strategy.RULE


class SpuriousSpans(Protocol):
    """What makes spurious spans besides the ten rules. `rule` is its name in commands, files and figures."""

    rule: str
    strategy: Strategy
    notes: Collection[int]
    """The notes that get none of these errors."""

    def places(self, text: str) -> Iterator[Place]:
        """Where errors can stand in a text, the best first. Those that overlap gold or another error are left out."""
        ...


# Draw errors from all that the rules can make, in turn by rule, by a seed.


LEAST_RATE: Final = 0.001
MOST_RATE: Final = 1.0


@dataclass(frozen=True, slots=True, order=True)
class Ticket:
    """A possible error in a drawing. The order of tickets is random, and the same for the same note and seed."""

    order: int
    note: int
    injection: Injection


def ticket(injection: Injection, note: int, sha256: str, seed: int) -> Ticket:
    """Return the ticket of an error in the note `note`, whose text has this SHA-256.

    The order depends on the text, so it is the same in another database, where notes have other ids.
    """
    key = f"{seed} {sha256} {injection.start} {injection.end} {injection.label} {injection.was} {injection.rule}"
    return Ticket(int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big"), note, injection)


class Draw:
    """Collects tickets, and draws at most `most`. It keeps at most `most` tickets of each rule in memory."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: defaultdict[str, list[tuple[int, int, Ticket]]] = defaultdict(list)
        self.possible: defaultdict[str, int] = defaultdict(int)

    def add(self, tickets: Iterable[Ticket]) -> None:
        for one in tickets:
            rule = one.injection.rule
            self.possible[rule] += 1
            heap = self._kept[rule]
            entry = (-one.order, -self.possible[rule], one)
            if len(heap) < self._most:
                heapq.heappush(heap, entry)
            elif heap:
                heapq.heappushpop(heap, entry)

    def drawn(self, rules: Sequence[str]) -> list[Ticket]:
        """The drawn errors: one of each rule in turn, by the order of `rules`, until there are enough or no more."""
        queues = [sorted(entry[2] for entry in self._kept[rule])[::-1] for rule in rules]
        found: list[Ticket] = []
        while len(found) < self._most and any(queues):
            for queue in queues:
                if queue and len(found) < self._most:
                    found.append(queue.pop())
        return found


# How many injected errors a refiner caught, and how much of the untouched gold it changed.


START: Final = attrgetter("start")


@dataclass
class Share:
    """Hits among trials, with the exact two-sided 95% interval of Clopper and Pearson."""

    hits: int = 0
    of: int = 0

    def add(self, hit: bool) -> None:
        self.hits += hit
        self.of += 1

    @property
    def value(self) -> float | None:
        return self.hits / self.of if self.of else None

    def interval(self) -> tuple[float, float] | None:
        """The interval of the share; None without trials."""
        return exact(self.hits, self.of)


@dataclass(frozen=True, slots=True)
class InjectionOutcome:
    """What became of an injected error. `there`: the annotations that overlap its place, in order."""

    error: Injection
    there: tuple[Span, ...]

    @property
    def caught(self) -> bool:
        """A spurious span is gone, or a relabeled identifier has its gold label again."""
        return any(span.label == self.error.was for span in self.there) if self.error.was else not self.there

    @property
    def lost(self) -> bool:
        """Whether a relabeled identifier is no longer marked at all."""
        return bool(self.error.was) and not self.there


def outcomes(injected: Iterable[Injection], refined: Iterable[Span]) -> Iterator[InjectionOutcome]:
    """The outcome of each error of a note, by place. `refined` are the spans of the refiner's annotation set."""
    there = sorted(refined)
    at = 0
    for one in sorted(injected):
        while at < len(there) and there[at].end <= one.start:
            at += 1
        # Spans may nest, so a later one may still reach the error; all that begin before its end are looked at.
        upto = bisect_left(there, one.end, lo=at, key=START)
        yield InjectionOutcome(one, tuple(span for span in there[at:upto] if span.end > one.start))


def collateral(
    gold: Iterable[Span], injected: Iterable[Injection], refined: Iterable[Span]
) -> Iterator[InjectionOutcome]:
    """The untouched gold spans of a note that are no longer there with the same bounds and label.

    Each is an outcome whose error has the gold span's label as both labels, and no rule.
    """
    there = sorted(refined)
    exact = set(there)
    changed = {Span(one.start, one.end, one.was) for one in injected if one.was}
    gone = [span for span in gold if span not in changed and span not in exact]
    return outcomes((Injection(span.start, span.end, span.label, span.label, "") for span in gone), there)


@dataclass
class Caught:
    """Caught errors, in all, by rule and by strategy.

    `lost`: relabeled identifiers that are no longer marked at all, which are not caught. `collateral`: untouched gold
    spans that are no longer there with the same bounds and label.
    """

    errors: Share = field(default_factory=Share)
    lost: int = 0
    collateral: Share = field(default_factory=Share)
    rules: defaultdict[str, Share] = field(default_factory=lambda: defaultdict(Share))
    strategies: defaultdict[str, Share] = field(default_factory=lambda: defaultdict(Share))

    def add(self, gold: Iterable[Span], injected: Sequence[Injection], refined: Iterable[Span]) -> None:
        """Count one note. `gold` are the spans of the frozen version, `refined` those of the refiner's set."""
        there = sorted(refined)
        exact = set(there)
        changed = {Span(one.start, one.end, one.was) for one in injected if one.was}
        for found in outcomes(injected, there):
            one = found.error
            self.lost += found.lost
            for share in (self.errors, self.rules[one.rule], self.strategies[str(one.strategy)]):
                share.add(found.caught)
        for span in gold:
            if span not in changed:
                self.collateral.add(span not in exact)

    def as_json(self) -> dict[str, Any]:
        """The figures of the command: shares from 0 to 1, and None where there is nothing to count."""
        return {
            "injected": self.errors.of,
            "caught": self.errors.hits,
            "share": self.errors.value,
            "interval": self.errors.interval(),
            "lost": self.lost,
            "untouched": self.collateral.of,
            "collateral": self.collateral.hits,
            "collateral_share": self.collateral.value,
            "by_rule": {rule: _figures(share) for rule, share in self.rules.items()},
            "by_strategy": {strategy: _figures(share) for strategy, share in sorted(self.strategies.items())},
        }


def _figures(share: Share) -> dict[str, Any]:
    return {"injected": share.of, "caught": share.hits, "share": share.value, "interval": share.interval()}


LOG: Final = "log"
CSV: Final = "csv"
COLUMNS: Final = ("string", "label")
MOST_TERMS: Final = 20_000
LONGEST_TERM: Final = 200
"""Characters of a string of the vocabulary."""


@dataclass(frozen=True, slots=True, order=True)
class Term:
    """A string that was wrongly marked with a label, and how often."""

    string: str
    label: str
    count: int = 1


class Vocabulary:
    """Finds the strings of a log in a text: the same letters, as whole words.

    Of several labels of a string, the most frequent one counts, of equally frequent ones the first by alphabet.
    """

    strategy = Strategy.LOG
    notes: Collection[int] = ()

    def __init__(self, rule: str, terms: Iterable[Term]) -> None:
        self.rule = rule
        counts: defaultdict[str, defaultdict[str, int]] = defaultdict(lambda: defaultdict(int))
        for term in terms:
            counts[term.string][term.label] += term.count
        self._labels = {
            string: min(labels, key=lambda label: (-labels[label], label)) for string, labels in counts.items()
        }
        self._beginning: defaultdict[str, list[str]] = defaultdict(list)
        for string in sorted(self._labels, key=lambda string: (-len(string), string)):
            for token in tokenize(string)[:1]:
                if token.start == 0:
                    self._beginning[string[: token.end]].append(string)

    def places(self, text: str) -> Iterator[Place]:
        """Where the strings occur, by place; of strings that begin at the same place, the longest first."""
        tokens = tokenize(text)
        ends = {token.end for token in tokens}
        for token in tokens:
            for string in self._beginning.get(text[token.start : token.end], ()):
                end = token.start + len(string)
                if end in ends and text.startswith(string, token.start):
                    yield token.start, end, self._labels[string]


class TermError(WordedError, ValueError):
    """A term that can't be used. `field` is string or label."""

    def __init__(self, field: str, sentence: str, *values: object) -> None:
        super().__init__(sentence, *values)
        self.field = field


def checked_term(string: str, label: str, count: int, labels: Collection[str]) -> Term:
    """Make a term. `labels` are the codes of the project. Raises TermError, which says what to do."""
    try:
        string = worded(string, LONGEST_TERM, what=_("string"))
    except WordingError as error:
        raise TermError("string", str(error)) from None
    if label not in labels:
        known = ", ".join(sorted(labels))
        raise TermError("label", "There is no label “{label}”. Use one of: {known}.", label[:40], known)
    return Term(string, label, count)


def read_terms(lines: Iterator[str], labels: Collection[str]) -> list[Term]:
    """Read a vocabulary from CSV with the columns string and label; a column count is optional.

    `labels` are the codes of the project. Raises RowError, which names the line and says what to do.
    """
    terms = []
    for row in csv_rows(lines, COLUMNS):
        count = row.text("count") or "1"
        if not (count.isascii() and count.isdigit() and 0 < len(count) < 10 and int(count)):
            raise RowError(
                "Line {n}: the count “{text}” is not a whole number from 1. Correct it.", row.line, count[:40]
            )
        try:
            terms.append(checked_term(row.text("string"), row.text("label"), int(count), labels))
        except TermError as error:
            raise RowError("Line {line}: {error} Correct or delete the line.", row.line, error) from None
    if not terms:
        raise RowError("The file has no line below its header. Add a line with a string and a label.")
    if len(terms) > MOST_TERMS:
        raise RowError("The file has {count} strings. Keep {most} at most.", len(terms), MOST_TERMS)
    return terms
