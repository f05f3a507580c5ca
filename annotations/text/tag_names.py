"""Tag names of third-party models: BIO, IO, BIOES and BILOU, with `-` or `_` between prefix and label."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from annotations.text.bio import OUTSIDE

_TAG: Final = re.compile(r"(?:([BILUESM])[-_])?(.+)", re.DOTALL)
# Without a tag with one of these, letters such as the `E-` of `E-MAIL` are part of the label.
_USUAL: Final = frozenset("BI")
# The names of the schemes, by a prefix that only these have.
_OWN: Final = {"S": "BIOES", "E": "BIOES", "U": "BILOU", "L": "BILOU", "B": "BIO"}


def marks_and_labels(names: Sequence[str]) -> list[tuple[str, str]]:
    """Split `B-PER` into ("B", "PER"), `PER` into ("", "PER"), and `O` into ("", ""), for all tags of a model.

    Prefixes are read as such only if a tag begins with `B-` or `I-`. Raises ValueError for an empty name.
    """
    read = [_mark_and_label(name) for name in names]
    if any(mark in _USUAL for mark, _ in read):
        return read
    return [("", "" if name == OUTSIDE else name) for name in names]


def _mark_and_label(name: str) -> tuple[str, str]:
    if name == OUTSIDE:
        return "", ""
    found = _TAG.fullmatch(name)
    if found is None:
        raise ValueError("A tag of the model has an empty name.")
    return found[1] or "", found[2]


def without_special(names: Iterable[str]) -> list[str]:
    """The tags with O for those that no span has, such as `<START>` and `<unk>` of Flair."""
    return [OUTSIDE if name.startswith("<") and name.endswith(">") else name for name in names]


def labels_in(names: Iterable[str]) -> tuple[str, ...]:
    """The labels in these tag names, sorted. Raises ValueError for an empty name."""
    return tuple(sorted({label for _, label in marks_and_labels(list(names)) if label}))


def scheme_of(names: Sequence[str]) -> str:
    """The scheme of a model's tags: BIOES, BILOU, BIO, or IO if no tag marks the start of a span."""
    marks = {mark for mark, _ in marks_and_labels(names)}
    return next((scheme for mark, scheme in _OWN.items() if mark in marks), "IO")
