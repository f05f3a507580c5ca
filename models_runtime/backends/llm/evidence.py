"""What supports the words of a note as an identifier of a type: rules, and the shape of the words."""

import re
from collections.abc import Sequence
from enum import IntEnum
from typing import Final

from annotations.domain.sentences import sentences
from annotations.domain.tokens import Token
from models_runtime.backends.base import BackendError
from models_runtime.backends.llm.prompts import LabelWord
from models_runtime.backends.rules import labels as rule_labels
from models_runtime.backends.rules.identifiers import identifiers
from models_runtime.backends.rules.kinds import Kind
from models_runtime.backends.rules.rule import words

Families = frozenset[str]
"""Families of identifiers: the first part of a Kind, for example `name` for `name.patient`."""

FAMILIES: Final[Families] = frozenset(kind.value.partition(".")[0] for kind in Kind if kind is not Kind.TRAP)
_CAPITALIZED: Final = frozenset({"name", "place", "org", "profession"})
_WITH_DIGITS: Final = frozenset({"age", "date", "place", "id", "contact"})
# Words in the names of labels, in the languages of the notes, for label sets that the rules don't know.
_IN_NAMES: Final = (
    ("name", r"name|nome|nombre|cognome|apellido|doctor|patient|pazient|pacient|person|famil|medic"),
    ("age", r"\bage|\bet[aà]|edad"),
    ("date", r"date|data\b|fecha|birth|nascita"),
    (
        "place",
        r"loca|luog|place|indirizz|address|direcci|city|citt|ciudad|street|\bvia\b|calle|zip|cap\b|pa[ií]s|state|country",
    ),
    ("org", r"organi|hospital|ospedal|struttur|centr|institut|istitut"),
    ("contact", r"phone|tel|fax|mail|url|contact|contatt"),
    ("id", r"\bid|n[uú]m[eb]|codic|codig|card|tessera|licen|account|record|fiscal|device|vehicle"),
)
# Words that belong to an identifier only between supported words.
_GLUE: Final = words(
    "a al bin da das de degli dei del della delle dello den der di do dos du el i la las le lo los of san santa the "
    "und van von y"
)
_TITLES: Final = words(
    "dr dra dott dottor dottore dottoressa dottssa doc don doña mr mrs ms miss prof professor professore sig signor "
    "signora sr sra srta ssa"
)
_UNITS: Final = words("anni anno años año mesi mese meses mes giorni months month old years year yo")


class Support(IntEnum):
    """How well a token is supported. GLUE counts between supported tokens, UNIT beside them, such as "anni" or "Dr"."""

    NONE = 0
    GLUE = 1
    UNIT = 2
    SHAPE = 3
    RULE = 4


def families_of(label: LabelWord, label_set: str) -> Families:
    """The families of identifiers that a label can stand for; all if neither rules nor its name tell."""
    try:
        kinds = [kind for kind, code in rule_labels.table(label_set).items() if code == label.code]
    except BackendError:
        kinds = []
    known = {kind.value.partition(".")[0] for kind in kinds}
    if not known:
        words = " ".join((label.code, label.name, label.placeholder)).casefold()
        known = {family for family, pattern in _IN_NAMES if re.search(pattern, words)}
    return frozenset(known) or FAMILIES


class Evidence:
    """The support of each token of a piece of a note."""

    def __init__(self, text: str, tokens: Sequence[Token]) -> None:
        self._words = [text[token.start : token.end] for token in tokens]
        self._by_rule: list[set[str]] = [set() for _ in tokens]
        hits = identifiers(text)
        for at, token in enumerate(tokens):
            while hits and hits[0].end <= token.start:
                hits = hits[1:]
            if hits and hits[0].start <= token.start and token.end <= hits[0].end:
                self._by_rule[at].add(hits[0].kind.value.partition(".")[0])
        self._first, self._mixed = _sentence_starts(text, tokens, self._words)

    def of(self, at: int, families: Families) -> Support:
        """The support of a token as a part of an identifier of one of the families."""
        word = self._words[at]
        if self._by_rule[at] & families:
            return Support.RULE
        if not word[0].isalnum() or word in _GLUE:
            return Support.GLUE
        if word[0].isdigit():
            return Support.SHAPE if families & _WITH_DIGITS else Support.NONE
        if (word.casefold() in _UNITS and "age" in families) or (word.casefold() in _TITLES and "name" in families):
            return Support.UNIT
        # Capital letters tell nothing at the start of a sentence, and where everything is written in them.
        capital = word[0].isupper() and at not in self._first and self._mixed[at]
        return Support.SHAPE if capital and families & _CAPITALIZED else Support.NONE


def _sentence_starts(text: str, tokens: Sequence[Token], words: Sequence[str]) -> tuple[frozenset[int], list[bool]]:
    """The first token of each sentence, and for each token whether its sentence has a word in lower case."""
    first: set[int] = set()
    mixed = [False] * len(tokens)
    at = 0
    for start, end in sentences(text):
        while at < len(tokens) and tokens[at].start < start:
            at += 1
        begin = at
        first.add(begin)
        lower = False
        while at < len(tokens) and tokens[at].start < end:
            lower = lower or (len(words[at]) > 2 and words[at].islower())
            at += 1
        mixed[begin:at] = [lower] * (at - begin)
    return frozenset(first), mixed
