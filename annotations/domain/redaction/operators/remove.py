"""Remove: nothing takes the identifier's place. `releasing` closes the gap that it leaves."""

from annotations.domain.redaction.operators.base import InNote
from annotations.domain.redaction.released import Mention


def remove(mention: Mention, note: InNote) -> str:
    return ""
