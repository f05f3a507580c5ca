"""Systemic errors: rejected annotations that resemble each other, in groups (Xu et al. 2026, section 5).

A rejected annotation is a vector of two parts of equal weight: n-grams of the characters of its string, and the words
around it, weighted by inverse document frequency. Spherical k-means groups the annotations of each label. The paper
embeds with a sentence transformer and projects with UMAP; this needs no model and gives the same groups everywhere.
"""

import hashlib
import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import median
from typing import Final

from annotations.text.spans import Token, covered, tokenize
from models_runtime.refining.rules.injection import Place, Strategy

PREFIX: Final = "systemic:"
LEAST: Final = 2
"""Rejected annotations of a cluster at least."""
MOST_STRINGS: Final = 1_000
"""Different strings that are clustered at most, by the seed."""
_AROUND: Final = 4
_GRAMS: Final = (2, 3, 4)
_ROUNDS: Final = 20
_WORDS: Final = 6
_LONGEST_SHAPE: Final = 8
_LEAST_ALIKE: Final = 0.15
Vector = dict[str, float]


@dataclass(frozen=True, slots=True, order=True)
class RejectedAnnotation:
    """A rejected annotation: its place in a note, its label, its string and the words around it."""

    note: int
    start: int
    end: int
    label: str
    string: str
    context: tuple[str, ...]


@dataclass(frozen=True)
class Cluster:
    """Rejected annotations that resemble each other, the most typical first.

    `words` stand around them more often than around other rejected annotations. `key` is the same for the same members.
    """

    label: str
    examples: tuple[RejectedAnnotation, ...]
    words: tuple[str, ...]
    key: str

    @property
    def strings(self) -> list[tuple[str, int]]:
        """The different strings with their numbers, the most frequent first."""
        counts = Counter(one.string for one in self.examples)
        return sorted(counts.items(), key=lambda row: (-row[1], row[0]))


def examples_in(note: int, text: str, rejected: Iterable[Place]) -> list[RejectedAnnotation]:
    """The rejected annotations of a note, with the words around them."""
    tokens = tokenize(text)
    return [
        RejectedAnnotation(
            note, start, end, label, text[start:end], _context(text, tokens, *covered(tokens, start, end))
        )
        for start, end, label in rejected
    ]


def clusters(rejected: Sequence[RejectedAnnotation], seed: int) -> list[Cluster]:
    """Group the rejected annotations of each label. The same seed and annotations give the same clusters.

    The largest cluster is first. Equal strings with the same label are in the same cluster. Clusters of a single
    annotation are left out.
    """
    space = Space(rejected)
    by_string: defaultdict[tuple[str, str], list[RejectedAnnotation]] = defaultdict(list)
    for one in sorted(rejected):
        by_string[one.label, one.string].append(one)
    kept = sorted(by_string, key=lambda key: _order(seed, *key))[:MOST_STRINGS]
    by_label: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
    for key in kept:
        by_label[key[0]].append(key)
    frequency = Counter(word for key in kept for one in by_string[key] for word in set(one.context))
    number = sum(len(by_string[key]) for key in kept)
    found = []
    for label in sorted(by_label):
        keys = by_label[label]
        vectors = [_mean([space.vector(one) for one in by_string[key][:_ROUNDS]]) for key in keys]
        for members in _kmeans(vectors, max(1, round(math.sqrt(len(keys) / 2)))):
            center = _mean([vectors[at] for at in members])
            near = sorted(members, key=lambda at: (-_dot(vectors[at], center), keys[at]))
            examples = tuple(one for at in near for one in by_string[keys[at]])
            if len(examples) >= LEAST:
                found.append(Cluster(label, examples, _telling(examples, frequency, number), _key(examples)))
    return sorted(found, key=lambda one: (-len(one.examples), one.label, one.key))


class Space:
    """Vectors of annotations. Words that stand around many of the rejected annotations have less weight."""

    def __init__(self, rejected: Sequence[RejectedAnnotation]) -> None:
        self._number = len(rejected)
        self._frequency = Counter(word for one in rejected for word in set(one.context))

    def vector(self, one: RejectedAnnotation) -> Vector:
        return {**_of_string(one.string), **self.around(one.context)}

    def around(self, words: Sequence[str]) -> Vector:
        """The part of the words around an annotation."""
        return _half(
            {f"w {word}": math.log((1 + self._number) / (1 + self._frequency[word])) + 1 for word in set(words)}
        )


class Systemic:
    """Injects errors like those of an accepted cluster into other notes.

    A place is like them if its string is one of theirs. Another string must have the shape of one of theirs (such as
    two capitalized words), between half and twice the length of one, and words around it at least half as similar to
    those around the examples as these are to each other (median). It is none of the words around the examples, and the
    most similar one among its neighbors.
    """

    strategy = Strategy.SYSTEMIC

    def __init__(self, name: str, examples: Sequence[RejectedAnnotation], space: Space) -> None:
        self.rule = PREFIX + name
        self.notes: Collection[int] = {one.note for one in examples}
        self._space = space
        self._label = examples[0].label if examples else ""
        self._strings = {one.string for one in examples}
        self._sizes = {len(string) for string in self._strings}
        self._around = {word for one in examples for word in one.context}
        strings = _mean([_of_string(one.string) for one in examples])
        contexts = [space.around(one.context) for one in examples]
        self._context = _mean(contexts)
        self._least = max(_LEAST_ALIKE, _left_out(contexts) / 2)
        self._lengths: defaultdict[int, set[tuple[str, ...]]] = defaultdict(set)
        for string in self._strings:
            shape = tuple(_shape(string[token.start : token.end]) for token in tokenize(string))
            if len(shape) <= _LONGEST_SHAPE:
                self._lengths[len(shape)].add(shape)
        self._alike = lru_cache(1 << 16)(lambda string: _dot(_of_string(string), strings))

    def _may_be(self, string: str) -> bool:
        """Whether the string has the length of an example, and not only words that stand around examples."""
        fits = any(size <= 2 * len(string) <= 4 * size for size in self._sizes)
        return fits and not self._around.issuperset(string.lower().split())

    def places(self, text: str) -> Iterator[Place]:
        """The places of a note that are like the examples, the most similar first."""
        tokens = tokenize(text)
        shapes = [_shape(text[token.start : token.end]) for token in tokens]
        found = []
        for length, wanted in self._lengths.items():
            for first in range(len(tokens) - length + 1):
                if tuple(shapes[first : first + length]) not in wanted:
                    continue
                start, end = tokens[first].start, tokens[first + length - 1].end
                string, same = text[start:end], text[start:end] in self._strings
                if "\n" in string or not (same or self._may_be(string)):
                    continue
                words = _context(text, tokens, first, first + length)
                around = _dot(self._space.around(words), self._context)
                if same or around >= self._least:
                    found.append((not same, -around - self._alike(string), first, first + length))
        near = bytearray(len(tokens))
        for new, _alike, first, last in sorted(found):
            if not (new and any(near[first:last])):
                for at in range(max(0, first - _AROUND), min(len(tokens), last + _AROUND)):
                    near[at] = True
                yield tokens[first].start, tokens[last - 1].end, self._label


def _context(text: str, tokens: Sequence[Token], first: int, end: int) -> tuple[str, ...]:
    """The words next to tokens[first:end] on the same line, in lower case: those before, then those after."""
    before, after = tokens[max(0, first - 2 * _AROUND) : first], tokens[end : end + 2 * _AROUND]
    here = tokens[first:end] or tokens[first : first + 1]
    if not here:
        return ()
    left = _words(text, [(token, text[token.end : here[0].start]) for token in reversed(before)])
    right = _words(text, [(token, text[here[-1].end : token.start]) for token in after])
    return (*reversed(left), *right)


def _words(text: str, tokens: Iterable[tuple[Token, str]]) -> list[str]:
    """The first words of the tokens, each with the text between it and the annotation, until a line break."""
    words: list[str] = []
    for token, between in tokens:
        if "\n" in between or len(words) == _AROUND:
            break
        word = text[token.start : token.end].lower()
        if word.isalpha():
            words.append(word)
    return words


@lru_cache(1 << 14)
def _grams(string: str) -> tuple[tuple[str, int], ...]:
    padded = f"^{' '.join(string.lower().split())}$"
    counts = Counter(
        padded[at : at + size] for size in _GRAMS for at in range(len(padded) - size + 1)
    )  # A string of one letter has the grams “^a”, “a$” and “^a$”.
    return tuple(counts.items())


def _of_string(string: str) -> Vector:
    return _half({f"s {gram}": 1 + math.log(count) for gram, count in _grams(string)})


def _half(vector: Vector) -> Vector:
    """The vector with the length of a half of a unit vector of two parts."""
    length = math.sqrt(2 * sum(value * value for value in vector.values()))
    return {key: value / length for key, value in vector.items()} if length else {}


def _dot(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    small, large = (one, other) if len(one) <= len(other) else (other, one)
    return math.fsum(value * large[key] for key, value in small.items() if key in large)


def _mean(vectors: Sequence[Vector]) -> Vector:
    """The direction of the mean, as a unit vector; empty without vectors."""
    total: defaultdict[str, float] = defaultdict(float)
    for vector in vectors:
        for key, value in vector.items():
            total[key] += value
    length = math.sqrt(math.fsum(value * value for value in total.values()))
    return {key: value / length for key, value in total.items()} if length else {}


def _left_out(vectors: Sequence[Vector]) -> float:
    """The median of the similarity of each vector to the mean of the others; 1 for a single one."""
    if len(vectors) < LEAST:
        return 1.0
    total: defaultdict[str, float] = defaultdict(float)
    for vector in vectors:
        for key, value in vector.items():
            total[key] += value
    square = math.fsum(value * value for value in total.values())
    found = []
    for vector in vectors:
        own, shared = _dot(vector, vector), _dot(vector, total)
        length = math.sqrt(max(0.0, square - 2 * shared + own))
        found.append((shared - own) / length if length else 0.0)
    return median(found)


def _kmeans(vectors: Sequence[Vector], number: int) -> list[list[int]]:
    """Spherical k-means. It begins with the first vector and then those least similar to the centers so far."""
    centers = [vectors[0]]
    nearest = [_dot(vector, centers[0]) for vector in vectors]
    while len(centers) < number:
        at = min(range(len(vectors)), key=lambda at: (nearest[at], at))
        centers.append(vectors[at])
        nearest = [max(old, _dot(vector, centers[-1])) for old, vector in zip(nearest, vectors, strict=True)]
    groups: list[list[int]] = []
    for _round in range(_ROUNDS):
        new: list[list[int]] = [[] for _center in centers]
        for at, vector in enumerate(vectors):
            alike = [_dot(vector, center) for center in centers]
            new[alike.index(max(alike))].append(at)
        new = [group for group in new if group]
        if new == groups:
            break
        groups = new
        centers = [_mean([vectors[at] for at in group]) for group in groups]
    return groups


def _telling(examples: Sequence[RejectedAnnotation], frequency: Mapping[str, int], number: int) -> tuple[str, ...]:
    """The words around the examples, by how much more often they stand there than elsewhere."""
    counts = Counter(word for one in examples for word in set(one.context))

    def telling(word: str) -> float:
        share = counts[word] / len(examples)
        return share * math.log(1 + share * number / frequency[word])

    words = [word for word, count in counts.items() if count >= LEAST and len(word) > 1]
    return tuple(sorted(words, key=lambda word: (-telling(word), word))[:_WORDS])


def _shape(token: str) -> str:
    if token.isdigit():
        return "9"
    if not token.isalpha():
        return token
    if token.isupper():
        return "X" if len(token) > 1 else "Xx"
    return "Xx" if token[0].isupper() else "x"


def _order(seed: int, label: str, string: str) -> bytes:
    return hashlib.sha256(f"{seed} {label} {string}".encode()).digest()


def _key(examples: Iterable[RejectedAnnotation]) -> str:
    places = sorted((one.note, one.start, one.end, one.label) for one in examples)
    return hashlib.sha256(repr(places).encode()).hexdigest()[:16]
