"""Replace spans by `[TYPE]`, and convert offsets of the masked text back to the original text."""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from annotations.text.masking import stretches
from annotations.text.spans import Span


@dataclass(frozen=True)
class Masked:
    """A masked text. `holes`: start and end of each placeholder, and the offset of the original text after it.

    All offsets are code points, end-exclusive.
    """

    text: str
    holes: tuple[tuple[int, int, int], ...]

    def back(self, start: int, end: int) -> tuple[int, int] | None:
        """The same part of the original text; None if it is empty or overlaps a placeholder."""
        at = bisect_right(self.holes, start, key=lambda hole: hole[0])
        if start >= end or (at and start < self.holes[at - 1][1]) or (at < len(self.holes) and end > self.holes[at][0]):
            return None
        shift = self.holes[at - 1][2] if at else 0
        return start + shift, end + shift


def mask(text: str, spans: Iterable[Span]) -> Masked:
    """Replace overlapping spans by one placeholder, with the label of the longest span, then the earliest."""
    parts: list[str] = []
    holes: list[tuple[int, int, int]] = []
    done = length = 0
    for start, end, label in stretches(spans):
        placeholder = f"[{label}]"
        parts += [text[done:start], placeholder]
        length += start - done
        holes.append((length, length + len(placeholder), end - length - len(placeholder)))
        length += len(placeholder)
        done = end
    return Masked("".join([*parts, text[done:]]), tuple(holes))
