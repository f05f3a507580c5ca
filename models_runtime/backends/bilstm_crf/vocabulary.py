"""The BiLSTM's input for each token as numbers: word, characters, sub-words, position, document memory."""

import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any, Final

import numpy as np

from models_runtime.backends.notes.note import Note

# Number 0 is padding and “none”, number 1 stands for values that were not in the training notes.
UNSEEN: Final = 1
CHARACTERS: Final = 16
BUCKETS: Final = 1 << 15
GRAMS: Final = 12
TOP: Final = 24
BOTTOM: Final = 8
INTO: Final = 12
# Columns of a token, in order.
COLUMNS: Final = (
    "word",
    "shape",
    "short",
    "rule",
    "field",
    "since",
    "memory",
    "known",
    "into",
    "top",
    "bottom",
    "glued",
)


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
        for note, rule_tags in zip(notes, tags, strict=True):
            for each, position, tag in zip(note.words, note.positions, rule_tags, strict=True):
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
        return cls(**{name: dict(data[name]) for name in cls.__dataclass_fields__})

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
    """Tokens as numbers: `columns` [tokens, columns], `characters` [tokens, CHARACTERS], `grams` [tokens, GRAMS].

    `context` [tokens, values]: vectors from a character language model, with 0 values without one.
    """

    columns: Any
    characters: Any
    grams: Any
    context: Any

    def part(self, first: int, past: int) -> "Rows":
        parts = (self.columns, self.characters, self.grams, self.context)
        return Rows(*(each[first:past] for each in parts))


def rows(
    note: Note, tags: Sequence[str], lexicon: Mapping[str, Sequence[str]], vocabulary: Vocabulary, context: Any
) -> Rows:
    """The numbers of a note's tokens. `tags`: tags of the rules; `lexicon`: header fields of each word."""
    lines = len(note.edges)
    columns = np.array(
        [_columns(note, at, tags[at], lexicon, vocabulary, lines) for at in range(len(note.tokens))], dtype=np.int32
    ).reshape(-1, len(COLUMNS))
    forms = [note.text[token.start : token.end] for token in note.tokens]
    characters = np.zeros((len(forms), CHARACTERS), dtype=np.int32)
    for at, form in enumerate(forms):
        numbers = [vocabulary.character.get(character, UNSEEN) for character in _ends(form.lower())]
        characters[at, : len(numbers)] = numbers
    grams = np.array([_grams(each.lower) for each in note.words], dtype=np.int32).reshape(-1, GRAMS)
    return Rows(columns, characters, grams, context)


def _columns(
    note: Note, at: int, tag: str, lexicon: Mapping[str, Sequence[str]], vocabulary: Vocabulary, lines: int
) -> tuple[int, ...]:
    each, position = note.words[at], note.positions[at]
    return (
        vocabulary.word.get(each.norm, UNSEEN),
        vocabulary.shape.get(each.shape, UNSEEN),
        vocabulary.short.get(each.short, UNSEEN),
        _number(vocabulary.rule, tag),
        _number(vocabulary.field, position.field),
        min(position.since, 9) + 1,
        _first(vocabulary.field, note.memory.get(each.lower, ())),
        _first(vocabulary.field, [name.rpartition("/")[0] for name in lexicon.get(each.lower, ())]),
        min(position.into, INTO) + 1,
        min(position.line, TOP) + 1,
        min(lines - 1 - position.line, BOTTOM) + 1,
        _glued(note, at),
    )


def _number(numbers: Mapping[str, int], value: str) -> int:
    return numbers.get(value, UNSEEN) if value else 0


def _first(numbers: Mapping[str, int], values: Sequence[str]) -> int:
    return next((numbers[value] for value in values if value in numbers), UNSEEN if values else 0)


def _glued(note: Note, at: int) -> int:
    """Whether a token directly touches the one before it (1) and the one after it (2)."""
    tokens = note.tokens
    before = at > 0 and tokens[at - 1].end == tokens[at].start
    behind = at + 1 < len(tokens) and tokens[at].end == tokens[at + 1].start
    return int(before) + 2 * int(behind)


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
