"""Remove: nothing takes the identifier's place. `releasing` closes the gap that it leaves."""

from annotations.release.rules.redaction.operators.base import InNote
from annotations.release.rules.redaction.released import Mention


def remove(mention: Mention, note: InNote) -> str:
    return ""
