"""Names of tags as models of others have them: BIO, IO, BIOES, BILOU, with `-` or `_` between mark and label."""

import re
from collections.abc import Iterable
from typing import Final

from annotations.domain.bio import OUTSIDE

_TAG: Final = re.compile(r"(?:([BILUESM])[-_])?(.+)", re.DOTALL)


def mark_and_label(name: str) -> tuple[str, str]:
    """`B-PER` is ("B", "PER"), `PER` ("", "PER"), `O` ("", ""). Raises ValueError for the empty name."""
    if name == OUTSIDE:
        return "", ""
    found = _TAG.fullmatch(name)
    if found is None:
        raise ValueError("a tag without a name")
    return found[1] or "", found[2]


def labels_in(names: Iterable[str]) -> tuple[str, ...]:
    """The labels that tags of these names can give, in order. Raises ValueError for an empty name."""
    return tuple(sorted({label for _, label in map(mark_and_label, names) if label}))
