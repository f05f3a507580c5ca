"""Windows over a note that is longer than a model can read at once. Pure.

Windows overlap; each piece (a sub-word of the model's tokenizer) is read in the window that shows most of its
surroundings, so that none is judged at a cut. Places are indexes of pieces, end-exclusive.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class Window:
    """Pieces `start`-`past` are shown to the model; of these, `reads`-`reads_past` take their prediction from here."""

    start: int
    past: int
    reads: int
    reads_past: int

    def __len__(self) -> int:
        return self.past - self.start


def windows(count: int, most: int, overlap: int) -> list[Window]:
    """Windows of at most `most` pieces over `count`, neighbours sharing at least `overlap`.

    Every piece is read exactly once. Windows are of even size, so that the last one is no scrap. Raises ValueError
    where the overlap leaves no way forward.
    """
    if not 0 <= overlap < most:
        raise ValueError(f"windows of {most} can't overlap by {overlap}")
    if count <= most:
        return [Window(0, count, 0, count)] if count else []
    number = -(-(count - overlap) // (most - overlap))
    starts = [round(at * (count - most) / (number - 1)) for at in range(number)]
    # Two neighbours share a stretch; its middle is where reading passes from one to the other.
    changes = [0, *((left + most + right) // 2 for left, right in pairwise(starts)), count]
    return [Window(start, start + most, *reads) for start, reads in zip(starts, pairwise(changes), strict=True)]


def batches(lengths: Sequence[int], budget: int) -> list[list[int]]:
    """Indexes in batches of similar length, longest first, each at most `budget` wide (items x longest), one at least.

    Longest first: a batch that doesn't fit into memory shows at once.
    """
    found: list[list[int]] = []
    for at in sorted(range(len(lengths)), key=lambda at: (-lengths[at], at)):
        if found and lengths[found[-1][0]] * (len(found[-1]) + 1) <= budget:
            found[-1].append(at)
        else:
            found.append([at])
    return found
