"""Hash: the label and the digits of a keyed hash, "NAME-7f3a9c21d04b"; the same for equal identifiers."""

from annotations.release.rules.redaction.operators.base import InNote
from annotations.release.rules.redaction.released import Mention


def hashed(mention: Mention, note: InNote) -> str:
    return f"{mention.label}-{note.replacing.hashed(mention)}"
