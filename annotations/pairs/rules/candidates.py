"""Candidates for pairs of a clear and a published decision: MinHash LSH, with the exact Jaccard similarity behind it.

After Salierno et al. 2024, section 5.1. Texts are compared as sets of shingles of tokens, without OMISSIS.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from annotations.pairs.rules.numbers import OMISSIS
from annotations.text.spans import tokenize

# Table 6: an average decision has 1,384.12 + 7.59 + 4.13 tokens, of which 7.59 spans hide 11.72.
AVERAGE_TOKENS: Final = 1395.84
AVERAGE_SPANS: Final = 7.59
AVERAGE_HIDDEN: Final = 11.72
HIDDEN_PER_SPAN: Final = 3.0
"""Tokens that one OMISSIS hides, more than the 1.54 of table 6: our tokens are shorter, a date has five."""
# The LSH may miss what is close to its threshold, so it looks a little deeper than the exact similarity decides.
_DEEPER: Final = 0.08
_DEEPEST: Final = 0.3
# Weights of false positives and false negatives: a false candidate costs one exact comparison.
_WEIGHTS: Final = (0.3, 0.7)


@dataclass(frozen=True)
class CandidateSearch:
    """Parameters of the search. `threshold` is the similarity asked of an average decision, by single tokens.

    `shingle` is the number of tokens of a shingle, `permutations` and `seed` are those of the MinHash.
    """

    threshold: float = 0.95
    shingle: int = 1
    permutations: int = 128
    seed: int = 41

    def least(self, tokens: int, spans: int) -> float:
        """The least similarity for a published text with so many different shingles and so many OMISSIS.

        `threshold` leaves a margin below the similarity that table 6 lets expect of single tokens. The same margin is
        left below what the redactions of this text let expect.
        """
        hidden = spans * HIDDEN_PER_SPAN
        expected = expected_similarity(tokens + hidden, spans, hidden, self.shingle)
        average = expected_similarity(AVERAGE_TOKENS, AVERAGE_SPANS, AVERAGE_HIDDEN, 1)
        return max(_DEEPEST, min(self.threshold, self.threshold * expected / average))


def expected_similarity(tokens: float, spans: float, hidden: float, shingle: int) -> float:
    """Jaccard similarity of a clear text of `tokens` tokens and its published version.

    In it, `spans` spans hide `hidden` tokens.
    All shingles are taken to differ. A span destroys the
    shingles that touch it, and joins `shingle` - 1 new ones.
    """
    joined = spans * (shingle - 1)
    lost = min(hidden + joined, tokens)
    return (tokens - lost) / (tokens + joined) if tokens else 1.0


def shingles(text: str, length: int = 1) -> frozenset[str]:
    """The different shingles of `length` tokens of a text, without OMISSIS and without case."""
    tokens = [text[start:end] for start, end in tokenize(text)]
    tokens = [token.casefold() for token in tokens if token != OMISSIS]
    if length == 1:
        return frozenset(tokens)
    return frozenset(" ".join(tokens[at : at + length]) for at in range(max(1, len(tokens) - length + 1)))


def omissis_count(text: str) -> int:
    """The number of tokens OMISSIS."""
    return sum(text[start:end] == OMISSIS for start, end in tokenize(text))


def jaccard(left: frozenset[str], right: frozenset[str]) -> float:
    """Size of the intersection divided by that of the union; 0 for two empty sets."""
    shared = len(left & right)
    return shared / (len(left) + len(right) - shared) if left or right else 0.0


class CandidateIndex:
    """The published texts, by MinHash LSH. Only workers and commands make one, since datasketch loads SciPy."""

    def __init__(self, search: CandidateSearch, published: Iterable[tuple[int, str]]) -> None:
        """`published` are keys and texts. Of each text, its hash values and its threshold are held, not the text."""
        from datasketch import MinHash, MinHashLSH

        self.search = search
        self._like = MinHash(num_perm=search.permutations, seed=search.seed)
        self.least: dict[int, float] = {}
        hashes = {}
        for key, text in published:
            found = shingles(text, search.shingle)
            self.least[key] = search.least(len(found), omissis_count(text))
            hashes[key] = self._hashed(found)
        least = min(self.least.values(), default=search.threshold) - _DEEPER
        self._lsh = MinHashLSH(threshold=least, num_perm=search.permutations, weights=_WEIGHTS)
        for key, made in hashes.items():
            self._lsh.insert(key, made)

    def _hashed(self, found: frozenset[str]) -> Any:
        made = self._like.copy()
        made.update_batch([shingle.encode() for shingle in found])
        return made

    def near(self, text: str) -> list[int]:
        """The keys of published texts that may be versions of this clear text, in order."""
        return sorted(self._lsh.query(self._hashed(shingles(text, self.search.shingle))))

    def exact(self, text: str, published: dict[int, frozenset[str]]) -> Iterator[tuple[int, float]]:
        """The keys and similarities of those of these published texts, given as shingles, that are similar enough."""
        own = shingles(text, self.search.shingle)
        for key, other in published.items():
            similarity = jaccard(own, other)
            if similarity >= self.least[key]:
                yield key, similarity
