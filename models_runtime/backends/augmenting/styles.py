"""Change the style of an annotated note as another hospital might write it; the spans stay at their words.

Styles: the header left out, other names of its fields, lower case, upper case. Spans are in code points, end-exclusive.
"""

import json
import random
import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import cache
from itertools import accumulate
from pathlib import Path
from typing import Final, NamedTuple

from annotations.domain.spans import Span
from annotations.domain.whitespace import trim
from models_runtime.backends.augmenting.edits import Edit, edited

# A line with more words is prose, which ends the header.
LINE_WORDS: Final = 15
# Other names are known for fields of notes in these languages.
LANGUAGES: Final = ("es", "it", "en")
_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_FIELD: Final = re.compile(r"[\s\ufeff]*[^\W\d_][\w./ºª°()' -]{0,40}(?<!\d):")


class Style(StrEnum):
    """A style that a note can be changed to."""

    WITHOUT_HEADER = "without header"
    RENAMED = "other field names"
    LOWER = "lower case"
    UPPER = "upper case"


class Styled(NamedTuple):
    """A text with its spans, in order."""

    text: str
    spans: list[Span]


def styled(style: Style, text: str, spans: Sequence[Span], language: str = "") -> Styled:
    """The note in this style. `language`: of the names of fields; a note in an unknown language keeps them."""
    if style == Style.WITHOUT_HEADER:
        return without_header(text, spans)
    if style == Style.RENAMED:
        return with_other_names(text, spans, language)
    return in_case(text, spans, upper=style == Style.UPPER)


def header_end(text: str) -> int:
    """Where the header ends: the lines at the start that are fields (`Name: value`), titles or empty; 0 without any.

    It ends after the last field before the first line of prose, which has more than LINE_WORDS words. It has at least
    two fields, because one alone is rather a heading. A note of nothing but fields has no header.
    """
    at = end = fields = 0
    while at < len(text):
        line = _LINE.match(text, at)
        assert line is not None
        if len(line.group().split()) > LINE_WORDS:
            break
        at = line.end()
        if _FIELD.match(line.group()):
            end, fields = at, fields + 1
    return end if fields > 1 and text[end:].strip() else 0


def without_header(text: str, spans: Sequence[Span]) -> Styled:
    """The note without its header and the spans in it. What remains of a span that crosses its end is kept."""
    end = header_end(text)
    return Styled(*edited(text, spans, [Edit(0, end, "")] if end else []))


def in_case(text: str, spans: Sequence[Span], *, upper: bool) -> Styled:
    """The note in upper or lower case. A character may become several: "İ" and "ß" have no single counterpart."""
    change = str.upper if upper else str.lower
    ends = [0, *accumulate(len(change(character)) for character in text)]
    changed = change(text)
    # In a text, a final "Σ" becomes "ς": still one character.
    assert ends[-1] == len(changed)
    moved = ((trim(changed, ends[span.start], ends[span.end]), span.label) for span in spans)
    return Styled(changed, sorted(Span(*bounds, label) for bounds, label in moved))


def with_other_names(text: str, spans: Sequence[Span], language: str, chance: random.Random | None = None) -> Styled:
    """The note with other names of its fields and titles (see `renaming`)."""
    return Styled(*edited(text, spans, renaming(text, spans, language, chance)))


def renaming(text: str, spans: Sequence[Span], language: str, chance: random.Random | None = None) -> list[Edit]:
    """Other names of the fields and titles at the start of each line, and anywhere in the header.

    Names within a span stay. `chance` chooses among several names; without it, the first one is taken.
    """
    names = other_names(language)
    if not names:
        return []
    edits, end = [], header_end(text)
    for found in _names(language).finditer(text):
        first, past = found.span("name")
        at_start = not text[max(text.rfind("\n", 0, first), text.rfind("\r", 0, first)) + 1 : first].strip("\ufeff \t")
        if not (at_start or first < end) or any(span.start < past and first < span.end for span in spans):
            continue
        old = found.group("name")
        choices = names[" ".join(old.lower().split())]
        new = chance.choice(choices) if chance else choices[0]
        edits.append(Edit(first, past, new.upper() if old.isupper() and len(old) > 1 else new))
    return edits


@cache
def other_names(language: str) -> Mapping[str, Sequence[str]]:
    """The other names of each field and title, which is in lower case; empty for an unknown language."""
    data = json.loads(Path(__file__).with_name("field_names.json").read_text(encoding="utf-8"))
    found: dict[str, list[str]] = data.get(language[:2].lower(), {})
    return found


@cache
def _names(language: str) -> re.Pattern[str]:
    longest = sorted(other_names(language), key=lambda name: (-len(name), name))
    words = "|".join(r"\s*".join(map(re.escape, name.split())) for name in longest)
    return re.compile(rf"(?<![\w.])(?P<name>{words})(?=[ \t]*:|\.[ \t]*[\r\n])", re.IGNORECASE)
