"""How a transformer reads notes: a model keeps the choices of its training, so that its runs read in the same way."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

from annotations.text.tokens import Token
from models_runtime.backends.base import BackendError
from models_runtime.backends.notes.grouping import groups

# What one sequence of the network may be, and how tags are chosen.
CHUNKS: Final = ("overlapping", "disjoint")
DECODING: Final = ("path", "argmax")
MOST_GROUPED: Final = 1000

Part = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Reading:
    """`chunks`: overlapping windows, or disjoint chunks (Salierno et al. 2024, section 6).

    `decoding`: the best path that BIO allows, or the likeliest tag of each token (argmax). `grouped`: number of
    sentences in a sequence (Catelli 2021, section 3.3); 0 for as much text as fits. A longer group is cut into chunks.
    """

    chunks: str = "overlapping"
    decoding: str = "path"
    grouped: int = 0

    def __post_init__(self) -> None:
        """Raises BackendError (permanent) for unknown choices, such as those of a newer version."""
        right = self.chunks in CHUNKS and self.decoding in DECODING
        if not right or type(self.grouped) is not int or not 0 <= self.grouped <= MOST_GROUPED:
            raise BackendError(
                "This version can't read notes in the way that this model needs. Use a newer version.", permanent=True
            )

    @property
    def disjoint(self) -> bool:
        return self.chunks == "disjoint"

    def changed(self, settings: Mapping[str, Any], grouping: int) -> "Reading":
        """The same, with the choices that a training's settings make."""
        given = {key: settings[key] for key in ("chunks", "decoding") if key in settings}
        return replace(self, **given | ({"grouped": grouping} if grouping else {}))


@dataclass(frozen=True, slots=True)
class _Tokenized:
    text: str
    tokens: Sequence[Token]


def parts_of(text: str, tokens: Sequence[Token], first: Sequence[int], pieces: int, factor: int) -> list[Part]:
    """The pieces of each group of `factor` sentences: start and past-the-end. Every piece is in exactly one part.

    `first`: the piece in which each token begins. `pieces`: the number of pieces. Without a factor, there is one part.
    """
    if not factor or not pieces:
        return [(0, pieces)]
    starts = [first[start] for start, _ in groups(_Tokenized(text, tokens), factor, most=max(1, len(tokens)))]
    # Two tokens may share a piece, even where a group ends.
    edges = sorted({0, pieces, *starts[1:]})
    return list(pairwise(edges))
