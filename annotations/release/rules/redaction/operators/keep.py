"""Keep: the identifier stays as it is."""

from annotations.release.rules.redaction.operators.base import InNote
from annotations.release.rules.redaction.released import Mention


def keep(mention: Mention, note: InNote) -> str:
    return mention.text
