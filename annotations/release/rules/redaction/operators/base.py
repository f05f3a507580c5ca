"""The interface of operators: each turns a mention into the text that replaces it."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Protocol

from annotations.release.rules.redaction.dates import years
from annotations.release.rules.redaction.kinds import IdentifierType
from annotations.release.rules.redaction.released import Mention, Replacing


class InNote:
    """What operators know about the note: its mentions, the placeholders of labels, and what the caller provides."""

    def __init__(self, mentions: Sequence[Mention], placeholder_of: Mapping[str, str], replacing: Replacing) -> None:
        self._mentions = mentions
        self.placeholder_of = placeholder_of
        self.replacing = replacing

    @property
    def language(self) -> str:
        return self.replacing.language

    @cached_property
    def _years(self) -> list[tuple[int, int]]:
        """Where the note's dates name years: the start of the date, and its first year."""
        dates = (mention for mention in self._mentions if mention.kind is IdentifierType.DATE)
        return [(date.start, named[0]) for date in dates if (named := years(date.text, self.language))]

    def year_near(self, mention: Mention) -> int | None:
        """The year of the last date before the mention that names one, or else of the first one after it."""
        at = bisect_left(self._years, (mention.start, 0))
        return self._years[max(at - 1, 0)][1] if self._years else None

    @cached_property
    def latest_year(self) -> int | None:
        """The latest year that a date of the note names, or a year in figures in a note of the patient."""
        named = self.replacing.latest_year
        return max([year for _, year in self._years] + ([] if named is None else [named]), default=None)


class Operator(Protocol):
    def __call__(self, mention: Mention, note: InNote) -> str | None:
        """The text to write in place of the mention, or None to mask it."""
