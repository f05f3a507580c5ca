"""Errors of a log: strings that somebody wrongly marked, injected verbatim (Xu et al. 2026, section 5)."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from annotations.formats.files.csv_files import RowError, csv_rows
from annotations.text.names import WordingError, worded
from annotations.text.spans import tokenize
from annotations.text.wording import WordedError
from annotations.text.wording import gettext as _
from models_runtime.refining.rules.injection import Place, Strategy

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
