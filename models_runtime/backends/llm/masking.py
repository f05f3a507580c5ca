"""Text with what was found written as `[TYPE]`, and the way back to the offsets of the text itself."""

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from annotations.domain.masking import stretches
from annotations.domain.spans import Span


@dataclass(frozen=True)
class Masked:
    """`text` is what the model sees. `holes`: start and end there of each placeholder, and the texts' distance behind.

    All offsets are code points, end-exclusive.
    """

    text: str
    holes: tuple[tuple[int, int, int], ...]

    def back(self, start: int, end: int) -> tuple[int, int] | None:
        """The same stretch in the unmasked text; None where it shares a character with a placeholder, or is empty."""
        at = bisect_right(self.holes, start, key=lambda hole: hole[0])
        if start >= end or (at and start < self.holes[at - 1][1]) or (at < len(self.holes) and end > self.holes[at][0]):
            return None
        apart = self.holes[at - 1][2] if at else 0
        return start + apart, end + apart


def mask(text: str, spans: Iterable[Span]) -> Masked:
    """Each stretch that spans cover is one placeholder: the label of the longest of them, then the earliest."""
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
