"""Keep: the identifier stays as it is."""

from annotations.domain.redaction.operators.base import InNote
from annotations.domain.redaction.released import Mention


def keep(mention: Mention, note: InNote) -> str:
    return mention.text
