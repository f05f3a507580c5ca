"""A text as pieces of a transformer's tokenizer, with their bounds in the text and our tokens."""

import unicodedata
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, Final

import numpy as np
from tokenizers import Tokenizer

from annotations.text.spans import Token, tokenize
from models_runtime.backends.base import BackendError
from models_runtime.backends.notes import groups

# How a transformer reads notes: a model keeps the choices of its training, so that its runs read in the same way.


# What one sequence of the network may be, and how tags are chosen.
CHUNKS: Final = ("overlapping", "disjoint")
DECODING: Final = ("path", "argmax")
MOST_GROUPED: Final = 1000

Part = tuple[int, int]


@dataclass(frozen=True, slots=True)
class ReadingMode:
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
            raise BackendError("This version can't read notes in the way that this model needs. Use a newer version.")

    @property
    def disjoint(self) -> bool:
        return self.chunks == "disjoint"

    def changed(self, settings: Mapping[str, Any], grouping: int) -> "ReadingMode":
        """The same, with the choices that a training's settings make."""
        given = {key: settings[key] for key in ("chunks", "decoding") if key in settings}
        return replace(self, **given | ({"grouped": grouping} if grouping else {}))


def parts_of(text: str, tokens: Sequence[Token], first: Sequence[int], pieces: int, factor: int) -> list[Part]:
    """The pieces of each group of `factor` sentences: start and past-the-end. Every piece is in exactly one part.

    `first`: the piece in which each token begins. `pieces`: the number of pieces. Without a factor, there is one part.
    """
    if not factor or not pieces:
        return [(0, pieces)]
    starts = [first[start] for start, _ in groups(text, tokens, factor, most=max(1, len(tokens)))]
    # Two tokens may share a piece, even where a group ends.
    edges = sorted({0, pieces, *starts[1:]})
    return list(pairwise(edges))


FILE: Final = "tokenizer.json"
MASKS: Final = ("[MASK]", "<mask>")
# Unicode categories that tokenizers may drop without loss: control and format characters, marks, separators and more.
SILENT: Final = frozenset("CMZ")


@dataclass(frozen=True)
class EncodedText:
    """The pieces of a text (sub-words, an array of their ids), and our tokens.

    `bounds`: start and end of each piece (code points, end-exclusive). `first[n]`: index of the piece in which token n
    begins. Tokens that the tokenizer drops (such as a zero-width joiner) are not in `tokens`. `parts`: the pieces of
    each group of sentences, if the model groups sentences; empty for one part.
    """

    pieces: Any
    bounds: list[tuple[int, int]]
    tokens: list[Token]
    first: list[int]
    parts: list[Part] = field(default_factory=list)

    def owners(self) -> list[int]:
        """The index of the token to which each piece belongs; -1 for pieces outside all tokens.

        A piece in which two tokens begin belongs to the first one.
        """
        found = [-1] * len(self.pieces)
        for at, (token, start) in enumerate(zip(self.tokens, self.first, strict=True)):
            for piece in range(start, len(self.bounds)):
                begin, end = self.bounds[piece]
                if begin >= token.end:
                    break
                if begin < end and found[piece] < 0:
                    found[piece] = at
        return found


class Pieces:
    """A tokenizer from its tokenizer.json alone, without its own truncation and padding."""

    def __init__(self, content: str, grouped: int = 0) -> None:
        """`content` is a tokenizer.json, `grouped` as in Reading. Raises BackendError (permanent) for other content."""
        try:
            self._tokenizer = Tokenizer.from_str(content)
        except Exception as error:  # the library raises plain Exception for all errors
            raise BackendError(
                "The file {file} can't be read as a tokenizer ({error}).", FILE, type(error).__name__
            ) from None
        self.content = content
        self._grouped = grouped
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    def id_of(self, piece: str) -> int | None:
        """The id of a piece; None if the tokenizer doesn't have it."""
        found: int | None = self._tokenizer.token_to_id(piece)
        return found

    @property
    def last(self) -> int:
        """The highest id of a piece; -1 without pieces."""
        return max(self._tokenizer.get_vocab(with_added_tokens=True).values(), default=-1)

    def of_words(self, words: Sequence[str]) -> tuple[list[int], list[int]]:
        """The pieces of words that are given one by one, and the index of each piece's word."""
        if not words:
            return [], []
        found: Any = self._tokenizer.encode(list(words), is_pretokenized=True, add_special_tokens=False)
        return list(found.ids), list(found.word_ids)

    @property
    def mask(self) -> int | None:
        """The id of the mask piece; None if the tokenizer has none."""
        word = self._mask_word
        return None if word is None else self._tokenizer.token_to_id(word)

    @property
    def _mask_word(self) -> str | None:
        return next((word for word in MASKS if self._tokenizer.token_to_id(word) is not None), None)

    def masked(self, text: str, mask: str) -> EncodedText:
        """The pieces of a text in which `mask` stands for the mask piece, without tokens."""
        own = self._mask_word
        return EncodedText(self.numbers(text.replace(mask, own) if own else text), [], [], [])

    def word(self, piece: int) -> str:
        """A piece as text. A piece that continues a word keeps the tokenizer's sign, such as `##`."""
        return str(self._tokenizer.id_to_token(piece)).replace("\u2581", "").replace("\u0120", "")

    @cached_property
    def around(self) -> tuple[list[int], list[int]]:
        """The special pieces before and after a text, such as `[CLS]` and `[SEP]`."""
        plain = self._tokenizer.encode("a", add_special_tokens=False).ids
        whole = self._tokenizer.encode("a", add_special_tokens=True).ids
        at = next((at for at in range(len(whole)) if whole[at : at + len(plain)] == plain), 0)
        return whole[:at], whole[at + len(plain) :]

    def encode(self, text: str) -> EncodedText:
        """Encode a text. Raises BackendError if the tokenizer skips a visible character."""
        found: Any = self._tokenizer.encode(text, add_special_tokens=False)
        # Building large batches from an array is much faster than from Python integers.
        pieces, bounds = np.array(found.ids, dtype=np.int64), [(int(start), int(end)) for start, end in found.offsets]
        tokens, first = _seen(text, tokenize(text), bounds)
        return EncodedText(pieces, bounds, tokens, first, parts_of(text, tokens, first, len(pieces), self._grouped))

    def numbers(self, text: str) -> Any:
        """The pieces of a text as an array of their ids, for trainings that need no tokens."""
        found: Any = self._tokenizer.encode(text, add_special_tokens=False)
        return np.array(found.ids, dtype=np.int64)


def _seen(text: str, tokens: Sequence[Token], bounds: Sequence[tuple[int, int]]) -> tuple[list[Token], list[int]]:
    """The tokens that pieces cover, and the first piece of each."""
    lasts = list(accumulate((end for _, end in bounds), max))  # an empty piece may have the bounds (0, 0)
    seen, first = [], []
    for token in tokens:
        at = bisect_right(lasts, token.start)
        while at < len(bounds) and bounds[at][0] == bounds[at][1]:  # Empty pieces cover no text.
            at += 1
        if at < len(bounds) and bounds[at][0] < token.end:
            seen.append(token)
            first.append(at)
        elif any(unicodedata.category(character)[0] not in SILENT for character in text[token.start : token.end]):
            raise BackendError("The model's tokenizer skips the character at {offset}.", token.start, permanent=False)
    return seen, first
