"""The one rule by which writers of files give spans and their attributes, and say what a file can't hold."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from annotations.formats.base import BAD_CODE, Loss, OutNote, written_code
from annotations.text.characters import trim
from annotations.text.names import bad_character
from annotations.text.spans import Span, check_bounds

_YES: Final = "true"


def given_spans(note: OutNote, labels: Mapping[str, str]) -> tuple[list[tuple[Span, str]], list[Loss]]:
    """The spans to write in text order, each with the code to write, and the losses that all formats share.

    Spans have no white space at their ends, and none has the bounds and the code of another.
    """
    given: dict[tuple[int, int, str], Span] = {}
    losses: list[Loss] = []
    for span in sorted(note.spans):
        check_bounds(span, len(note.text))
        code = written_code(span, labels)
        start, end = trim(note.text, span.start, span.end)
        if code is None:
            losses.append(Loss(note.name, span, BAD_CODE))
        elif start == end:
            losses.append(Loss(note.name, span, "The span contains only white space."))
        elif (start, end, code) in given:
            losses.append(Loss(note.name, span, "The span occurs twice and is exported once."))
        else:
            given[start, end, code] = span
            if (start, end) != (span.start, span.end):
                losses.append(Loss(note.name, span, "White space at the ends of the span is not exported."))
                given[start, end, code] = replace(span, start=start, end=end)
    return [(span, code) for (_, _, code), span in given.items()], losses


def attribute_words(
    note: OutNote, span: Span, names: re.Pattern[str], taken: Iterable[str] = ()
) -> tuple[dict[str, str], list[Loss]]:
    """The attributes of a span as words by name: its choice, or “true” if it has no choice; and the loss of others.

    Names must match `names` and not be one of `taken`, in lower case. An empty choice and the choice “true” would be
    read as another value.
    """
    words: dict[str, str] = {}
    lost: list[str] = []
    for name, value in span.attributes:
        word = _YES if value is True else str(value)
        same = word and attribute_value(word) == value and not bad_character(word)
        if same and names.fullmatch(name) and name.lower() not in taken:
            words[name] = word
        else:
            lost.append(name)
    losses = [Loss(note.name, span, f"Attributes are not exported: {', '.join(lost)}.")] if lost else []
    return words, losses


def attribute_value(word: str) -> str | bool:
    """The value of an attribute for its word."""
    return True if word.lower() == _YES else word
