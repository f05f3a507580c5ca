"""Closing the gaps that removed text leaves: no double spaces, none before punctuation, no empty brackets."""

from typing import Final

_SPACES: Final = frozenset(" \t\xa0")
_BREAKS: Final = frozenset("\n\r\x0b\x0c\x85\u2028\u2029")
_CLOSING: Final = frozenset(".,;:!?)]}»")
_OPENING: Final = {"(": ")", "[": "]", "{": "}", "«": "»"}


def widened(text: str, start: int, end: int, lowest: int, highest: int) -> tuple[int, int]:
    """The bounds of what to remove so that the text without `start` to `end` stays readable.

    They lie between `lowest` and `highest`, where other replaced text may begin.
    """
    while True:
        left, right = _spaces_before(text, start, lowest), _spaces_after(text, end, highest)
        before = text[left - 1] if left > lowest else ""
        after = text[right] if right < highest else ""
        begins = before in _BREAKS or left == 0
        ends = after in _BREAKS or right == len(text)
        if before and _OPENING.get(before) == after:
            start, end = left - 1, right + 1
        elif before in (",", ";") and after and after in ",;.":
            start, end = left - 1, end
        elif begins:
            return (left if ends else start), right
        elif ends or after in _CLOSING:
            return left, right
        elif before in _OPENING:
            return start, right
        else:
            return (left if right > end else start), end


def _spaces_before(text: str, at: int, lowest: int) -> int:
    while at > lowest and text[at - 1] in _SPACES:
        at -= 1
    return at


def _spaces_after(text: str, at: int, highest: int) -> int:
    while at < highest and text[at] in _SPACES:
        at += 1
    return at


def only_spaces(text: str, start: int, end: int) -> bool:
    """Whether nothing but spaces lies between the bounds; true if they are equal."""
    return _spaces_after(text, start, end) == end
