"""The features of each token as numbers: word, characters, sub-words, position, document memory."""

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np

from annotations.text.bio import decode
from annotations.text.spans import Bounds, Span, Token
from models_runtime.backends.neural.crf import Tags
from models_runtime.backends.notes import Note, groups, read, sure_pieces, touching, word
from models_runtime.backends.rule_tags import FeatureRules, rule_tags

# Number 0 is padding and “none”, number 1 stands for values that were not in the training notes.
UNSEEN: Final = 1
CHARACTERS: Final = 16
BUCKETS: Final = 1 << 15
GRAMS: Final = 12
TOP: Final = 24
BOTTOM: Final = 8
INTO: Final = 12
# Columns of a token, in order, each with the width of the vector that the network learns for a value.
WIDTHS: Final[dict[str, int]] = {
    "word": 100, "shape": 25, "short": 15, "rule": 25, "field": 40, "since": 8, "memory": 30, "known": 30,
    "into": 8, "top": 10, "bottom": 6, "glued": 4,
}  # fmt: skip
COLUMNS: Final = tuple(WIDTHS)
# The columns that depend only on the form of a token.
OF_FORM: Final = ("word", "shape", "short", "known")
# Limit of the forms that are kept from note to note.
MOST_FORMS: Final = 1 << 15


@dataclass(frozen=True)
class Vocabulary:
    """The numbers of the values of each text column. Learned from the training notes and saved with the model."""

    word: dict[str, int]
    shape: dict[str, int]
    short: dict[str, int]
    rule: dict[str, int]
    field: dict[str, int]
    character: dict[str, int]

    @classmethod
    def learned(cls, notes: Iterable[Note], tags: Iterable[Sequence[str]]) -> "Vocabulary":
        """The vocabulary of these notes. `tags`: the tags of the rules for each note."""
        seen: dict[str, Counter[str]] = {name: Counter() for name in cls.__dataclass_fields__}
        for note, own in zip(notes, tags, strict=True):
            for each, position, tag in zip(note.words, note.positions, own, strict=True):
                seen["word"][each.norm] += 1
                seen["shape"][each.shape] += 1
                seen["short"][each.short] += 1
                seen["rule"][tag] += 1
                seen["field"][position.field] += 1
                seen["character"].update(each.lower)
        least = {"word": 1, "field": 2}
        return cls(**{name: _numbers(counts, least.get(name, 2)) for name, counts in seen.items()})

    def extended(self, other: "Vocabulary") -> "Vocabulary":
        """This vocabulary with the values of another that it lacks, which get the next numbers."""
        found = {}
        for name in self.__dataclass_fields__:
            own: dict[str, int] = dict(getattr(self, name))
            for value in getattr(other, name):
                own.setdefault(value, len(own) + UNSEEN + 1)
            found[name] = own
        return Vocabulary(**found)

    @classmethod
    def read(cls, data: Mapping[str, Mapping[str, int]]) -> "Vocabulary":
        """The vocabulary in a file. Raises ValueError for numbers other than those of `learned`.

        With others, a token would get the row of another value, or of another column, without an error.
        """
        found = {name: dict(data[name]) for name in cls.__dataclass_fields__}
        for numbers in found.values():
            used = list(numbers.values())
            if not all(type(number) is int for number in used) or sorted(used) != [
                *range(UNSEEN + 1, UNSEEN + 1 + len(used))
            ]:
                raise ValueError("numbers that no vocabulary has")
        return cls(**found)

    def as_data(self) -> dict[str, Any]:
        return asdict(self)

    def sizes(self) -> dict[str, int]:
        """How many different numbers each column has."""
        words = {name: 2 + len(getattr(self, name)) for name in self.__dataclass_fields__}
        return words | {
            "memory": words["field"], "known": words["field"], "since": 11,
            "into": INTO + 2, "top": TOP + 2, "bottom": BOTTOM + 2, "glued": 4,
        }  # fmt: skip


def _numbers(counts: Counter[str], least: int) -> dict[str, int]:
    kept = sorted(key for key, count in counts.items() if count >= least and key)
    return {key: number for number, key in enumerate(kept, start=UNSEEN + 1)}


@dataclass(frozen=True)
class Rows:
    """Tokens as numbers. `fixed` [tokens, values]: their vectors from embeddings, which may have 0 values.

    The other fields are None for a model without features: `columns` [tokens, columns], `characters` [tokens,
    CHARACTERS], `grams` [tokens, GRAMS].
    """

    fixed: Any
    columns: Any = None
    characters: Any = None
    grams: Any = None

    def __len__(self) -> int:
        return len(self.fixed)

    def part(self, first: int, past: int) -> "Rows":
        parts = (self.fixed, self.columns, self.characters, self.grams)
        return Rows(*(None if each is None else each[first:past] for each in parts))


class Forms:
    """The numbers that depend only on the form of a token: columns, characters, n-grams."""

    def __init__(self, vocabulary: Vocabulary, lexicon: Mapping[str, Sequence[str]]) -> None:
        self.vocabulary, self._lexicon = vocabulary, lexicon
        self.numbers = lru_cache(maxsize=MOST_FORMS)(self._numbers)

    def _numbers(self, form: str) -> tuple[int, ...]:
        each, vocabulary = word(form), self.vocabulary
        known = [name.rpartition("/")[0] for name in self._lexicon.get(each.lower, ())]
        characters = [vocabulary.character.get(character, UNSEEN) for character in _ends(each.lower)]
        return (
            vocabulary.word.get(each.norm, UNSEEN),
            vocabulary.shape.get(each.shape, UNSEEN),
            vocabulary.short.get(each.short, UNSEEN),
            _first(vocabulary.field, known),
            *characters, *[0] * (CHARACTERS - len(characters)),
            *_grams(each.lower),
        )  # fmt: skip


def rows(note: Note, tags: Sequence[str], forms: Forms, fixed: Any) -> Rows:
    """The numbers of a note's tokens. `tags`: tags of the rules."""
    width = len(OF_FORM) + CHARACTERS + GRAMS
    spelled = np.array(list(map(forms.numbers, note.forms)), dtype=np.int32).reshape(len(note.tokens), width)
    columns = np.zeros((len(note.tokens), len(COLUMNS)), dtype=np.int32)
    for at, name in enumerate(OF_FORM):
        columns[:, COLUMNS.index(name)] = spelled[:, at]
    for name, values in _positional(note, tags, forms.vocabulary).items():
        columns[:, COLUMNS.index(name)] = values
    first = len(OF_FORM) + CHARACTERS
    return Rows(fixed, columns, spelled[:, len(OF_FORM) : first], spelled[:, first:])


def _positional(note: Note, tags: Sequence[str], vocabulary: Vocabulary) -> dict[str, Any]:
    """The columns that depend on more than the form of a token."""
    glued, last = touching(note.tokens), len(note.edges) - 1
    memory = {lower: _first(vocabulary.field, found) for lower, found in note.memory.items()}
    return {
        "rule": [_number(vocabulary.rule, tag) for tag in tags],
        "field": [_number(vocabulary.field, each.field) for each in note.positions],
        "since": [each.since + 1 for each in note.positions],
        "memory": [memory.get(each.lower, 0) for each in note.words],
        "into": [min(each.into, INTO) + 1 for each in note.positions],
        "top": [min(each.line, TOP) + 1 for each in note.positions],
        "bottom": [min(last - each.line, BOTTOM) + 1 for each in note.positions],
        # Whether a token directly touches the one before it (1) and the one after it (2).
        "glued": glued[:-1] + 2 * glued[1:],
    }


def _number(numbers: Mapping[str, int], value: str) -> int:
    return numbers.get(value, UNSEEN) if value else 0


def _first(numbers: Mapping[str, int], values: Sequence[str]) -> int:
    return next((numbers[value] for value in values if value in numbers), UNSEEN if values else 0)


def _ends(form: str) -> str:
    """The two ends of a long form, where affixes are."""
    return form if len(form) <= CHARACTERS else form[: CHARACTERS // 2] + form[-(CHARACTERS // 2) :]


@lru_cache(maxsize=1 << 16)
def _grams(lower: str) -> tuple[int, ...]:
    """Hashed n-grams of 3 to 5 characters (Bojanowski et al. 2017), at most GRAMS, evenly chosen from a long form."""
    whole = f"<{_ends(lower)}>"
    found = sorted({whole[at : at + size] for size in (3, 4, 5) for at in range(len(whole) - size + 1)})
    if len(found) > GRAMS:
        found = found[:: -(-len(found) // GRAMS)]
    numbers = [1 + zlib.crc32(gram.encode()) % (BUCKETS - 1) for gram in found]
    return tuple(numbers + [0] * (GRAMS - len(numbers)))


# Notes as input of the network: numbers for each token, in groups of sentences.


@dataclass(frozen=True)
class Item:
    """One sequence: the tokens `first` to `past` (exclusive) of its note."""

    first: int
    past: int
    rows: Rows

    def __len__(self) -> int:
        return self.past - self.first


Vectors = Callable[[Note, Sequence[tuple[int, int]]], Any]
"""A function that gives each token of a note its fixed vector [tokens, values]: see Stack.vectors."""


def no_vectors(note: Note, groups: Sequence[tuple[int, int]]) -> Any:
    return np.zeros((len(note.tokens), 0), dtype=np.float16)


@dataclass
class NoteEncoder:
    """Turns notes into items. `grouped`: number of sentences in an item.

    `rules`: those whose tags are features; None for a model without features. `lexicon`: header fields of each word.
    """

    rules: FeatureRules | None
    lexicon: Mapping[str, Sequence[str]]
    grouped: int
    vectors: Vectors = no_vectors
    _forms: Forms | None = None

    def rule_tags(self, text: str) -> tuple[Note, list[str]]:
        """The note of a text, and the tags of the rules for its tokens; none without features."""
        note = read(text)
        return note, rule_tags(note, self.rules.predict([text])[0]) if self.rules else []

    def items(
        self, note: Note, tags: Sequence[str], vocabulary: Vocabulary | None, sure: Sequence[Bounds] | None = None
    ) -> list[Item]:
        """The items of a note. `sure`: only what lies in these stretches of the text."""
        bounds = groups(note.text, note.tokens, self.grouped)
        if vocabulary is None:
            whole = Rows(self.vectors(note, bounds))
        else:
            if self._forms is None or self._forms.vocabulary is not vocabulary:
                self._forms = Forms(vocabulary, self.lexicon)
            whole = rows(note, tags, self._forms, self.vectors(note, ()))
        if sure is not None:
            parts = list(sure_pieces(note, sure))
            bounds = [
                (max(first, start), min(past, end))
                for first, past in bounds
                for start, end in parts
                if first < end and start < past
            ]
        return [Item(first, past, whole.part(first, past)) for first, past in bounds]


def spans_of(tokens: Sequence[Token], items: Sequence[Item], paths: Sequence[Sequence[int]], tags: Tags) -> list[Span]:
    """The spans of the tag paths in a note, one path per item. A span never continues from one item into the next."""
    found: list[Span] = []
    for item, path in zip(items, paths, strict=True):
        found += decode(tokens[item.first : item.past], [tags.names[tag] for tag in path])
    return found
