"""Surrogate: the replacement that the project's index has for the entity."""

from annotations.release.rules.redaction.operators.base import InNote
from annotations.release.rules.redaction.released import Mention


def surrogate(mention: Mention, note: InNote) -> str:
    return note.replacing.surrogate(mention)
