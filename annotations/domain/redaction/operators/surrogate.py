"""Surrogate: the replacement that the project's index has for the entity."""

from annotations.domain.redaction.operators.base import InNote
from annotations.domain.redaction.released import Mention


def surrogate(mention: Mention, note: InNote) -> str:
    return note.replacing.surrogate(mention)
