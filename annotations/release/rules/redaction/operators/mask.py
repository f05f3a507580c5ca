"""Mask: the placeholder of the label, "[NAME]", or with the number of the entity in the note, "[NAME 1]"."""

from typing import Final

from annotations.release.rules.redaction.operators.base import InNote
from annotations.release.rules.redaction.released import Mention

_BRACKETS: Final = ")]}>»"


def mask(mention: Mention, note: InNote) -> str:
    return note.placeholder_of[mention.label]


def numbered_mask(mention: Mention, note: InNote) -> str:
    """The placeholder with the number before its closing bracket, if it has one."""
    placeholder, number = note.placeholder_of[mention.label], note.replacing.number(mention)
    if placeholder[-1:] in _BRACKETS and placeholder:
        return f"{placeholder[:-1]} {number}{placeholder[-1]}"
    return f"{placeholder} {number}"
