"""The header of a note: the lines of fields at its start."""

import re
from collections.abc import Sequence
from typing import Final

from annotations.text.spans import Span
from models_runtime.backends.augmenting.edits import Edit, edited

# A line with more words is prose, which ends the header.
LINE_WORDS: Final = 15
_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_FIELD: Final = re.compile(r"[\s\ufeff]*[^\W\d_][\w./ºª°()' -]{0,40}(?<!\d):")


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


def without_header(text: str, spans: Sequence[Span]) -> tuple[str, list[Span]]:
    """The note without its header and the spans in it. What remains of a span that crosses its end is kept."""
    end = header_end(text)
    return edited(text, spans, [Edit(0, end, "")] if end else [])
