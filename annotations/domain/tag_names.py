"""Tag names of third-party models: BIO, IO, BIOES and BILOU, with `-` or `_` between prefix and label."""

import re
from collections.abc import Iterable
from typing import Final

from annotations.domain.bio import OUTSIDE

_TAG: Final = re.compile(r"(?:([BILUESM])[-_])?(.+)", re.DOTALL)


def mark_and_label(name: str) -> tuple[str, str]:
    """Split `B-PER` into ("B", "PER"), `PER` into ("", "PER"), `O` into ("", ""). An empty name raises ValueError."""
    if name == OUTSIDE:
        return "", ""
    found = _TAG.fullmatch(name)
    if found is None:
        raise ValueError("A tag of the model has an empty name.")
    return found[1] or "", found[2]


def labels_in(names: Iterable[str]) -> tuple[str, ...]:
    """The labels in these tag names, sorted. Raises ValueError for an empty name."""
    return tuple(sorted({label for _, label in map(mark_and_label, names) if label}))
