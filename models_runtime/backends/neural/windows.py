"""Windows over notes that are longer than a model's input.

Windows overlap unless a model reads disjoint chunks. The prediction of each piece (a sub-word of the model's
tokenizer) is taken from the window with most of its context, never from a window's edge. Bounds are indexes of pieces,
end-exclusive.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a note: pieces `start` to `past` are input; predictions are used for `kept` to `kept_past`."""

    start: int
    past: int
    kept: int
    kept_past: int

    def __len__(self) -> int:
        return self.past - self.start

    def moved(self, by: int) -> "Window":
        """The same window `by` pieces further on."""
        return Window(self.start + by, self.past + by, self.kept + by, self.kept_past + by)


def chunks(count: int, most: int) -> list[Window]:
    """Disjoint windows of `most` pieces, the last one shorter (Salierno et al. 2024, section 6)."""
    return [Window(at, past, at, past) for at in range(0, count, most) for past in [min(at + most, count)]]


def windows(count: int, most: int, overlap: int) -> list[Window]:
    """Windows of at most `most` pieces over `count` pieces; neighbors share at least `overlap` pieces.

    Each piece's prediction is used exactly once. All windows have the same size, so that the last one is not short.
    Raises ValueError for an overlap that is not smaller than `most`.
    """
    if not 0 <= overlap < most:
        raise ValueError(f"Windows of {most} pieces can't overlap by {overlap}.")
    if count <= most:
        return [Window(0, count, 0, count)] if count else []
    number = -(-(count - overlap) // (most - overlap))
    starts = [round(at * (count - most) / (number - 1)) for at in range(number)]
    # The predictions of the shared pieces come from the left window up to their middle, then from the right one.
    changes = [0, *((left + most + right) // 2 for left, right in pairwise(starts)), count]
    return [Window(start, start + most, *kept) for start, kept in zip(starts, pairwise(changes), strict=True)]


def batches(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Batches of indexes of items with similar lengths: at most `budget` units with padding, and at least one item.

    The longest items come first, so that a batch that doesn't fit into memory shows at once.
    """
    found: list[list[int]] = []
    for at in sorted(range(len(lengths)), key=lambda at: (-lengths[at], at)):
        if found and lengths[found[-1][0]] * (len(found[-1]) + 1) <= budget:
            found[-1].append(at)
        else:
            found.append([at])
    return found


def batches_of(lengths: Sequence[int], number: int) -> list[list[int]]:
    """Batches of `number` items with similar lengths, the longest first; the last batch may be smaller."""
    order = sorted(range(len(lengths)), key=lambda at: (-lengths[at], at))
    return [order[at : at + number] for at in range(0, len(order), number)]
