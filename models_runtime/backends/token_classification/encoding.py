"""A text as a transformer's tokenizer sees it, with the way back to code points and to our tokens."""

import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, Final

import numpy as np
from tokenizers import Tokenizer

from annotations.domain.tokens import Token, tokenize
from models_runtime.backends.base import BackendError

FILE: Final = "tokenizer.json"
MASKS: Final = ("[MASK]", "<mask>")
# What tokenizers drop, and nothing is lost by: controls, format characters, marks, separators, surrogates, unassigned.
SILENT: Final = frozenset("CMZ")


@dataclass(frozen=True)
class Encoded:
    """A text's pieces (sub-words, an array of their numbers) and our tokens.

    `first[n]` is the piece in which token n begins.

    `ends` are the pieces' places in the text, code points, end-exclusive. Tokens that the tokenizer drops (a zero-width
    joiner) are not among `tokens`.
    """

    pieces: Any
    ends: list[tuple[int, int]]
    tokens: list[Token]
    first: list[int]


class Pieces:
    """A tokenizer, by its tokenizer.json alone; truncation and padding of its own are switched off."""

    def __init__(self, content: str) -> None:
        """`content` is a tokenizer.json. Raises BackendError (permanent) where it is none."""
        try:
            self._tokenizer = Tokenizer.from_str(content)
        except Exception as error:  # the library raises plain Exception, whatever is wrong
            raise BackendError(
                f"{FILE} can't be read as a tokenizer ({type(error).__name__})", permanent=True
            ) from None
        self.content = content
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()

    @property
    def mask(self) -> int | None:
        """The piece that stands for a gap; None where the tokenizer has none."""
        found = (self._tokenizer.token_to_id(word) for word in MASKS)
        return next((number for number in found if number is not None), None)

    @cached_property
    def around(self) -> tuple[list[int], list[int]]:
        """The pieces that the model expects before and after a text: `[CLS]` and `[SEP]`, say."""
        plain = self._tokenizer.encode("a", add_special_tokens=False).ids
        whole = self._tokenizer.encode("a", add_special_tokens=True).ids
        at = next((at for at in range(len(whole)) if whole[at : at + len(plain)] == plain), 0)
        return whole[:at], whole[at + len(plain) :]

    def encode(self, text: str) -> Encoded:
        """Raises BackendError where the tokenizer passes over something that can be seen."""
        found: Any = self._tokenizer.encode(text, add_special_tokens=False)
        # An array: batches of tens of thousands are made of it, and Python's numbers would keep a GPU waiting.
        pieces, ends = np.array(found.ids, dtype=np.int64), [(int(start), int(end)) for start, end in found.offsets]
        return Encoded(pieces, ends, *_seen(text, tokenize(text), ends))


def _seen(text: str, tokens: Sequence[Token], ends: Sequence[tuple[int, int]]) -> tuple[list[Token], list[int]]:
    """The tokens that some piece covers, and the first such piece of each."""
    lasts = list(accumulate((end for _, end in ends), max))  # a piece of nothing may say 0, 0
    seen, first = [], []
    for token in tokens:
        at = bisect_right(lasts, token.start)
        while at < len(ends) and ends[at][0] == ends[at][1]:  # a piece without a character of its own
            at += 1
        if at < len(ends) and ends[at][0] < token.end:
            seen.append(token)
            first.append(at)
        elif any(unicodedata.category(character)[0] not in SILENT for character in text[token.start : token.end]):
            raise BackendError(
                f"the model's tokenizer reads nothing of the character at {token.start}", permanent=False
            )
    return seen, first
