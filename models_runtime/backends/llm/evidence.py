"""What supports the words of a note as an identifier of a type: rules, lists of names, and the shape of the words.

Capital letters alone prove nothing, since diagnoses and drugs can have them too ("Mario Rossi Lasix"). So a word is
known only by a rule that checks it, such as a date, or by a list of names. Clinical words never support an identifier.
"""

import json
import re
from collections.abc import Mapping, Sequence
from enum import IntEnum
from functools import cache
from pathlib import Path
from typing import Final

from annotations.text.segments import sentences
from annotations.text.spans import Token
from models_runtime.backends.base import BackendError
from models_runtime.backends.llm.prompts import LabelWord, Shot
from models_runtime.backends.rules.backend import identifiers, trap_hits
from models_runtime.backends.rules.gazetteers import NAMES, RuleKind, any_of, label_table, listed, places, word_set
from models_runtime.backends.rules.phrases import ALL_GIVEN, is_clinical_word
from models_runtime.backends.rules.rule import Hit

Families = frozenset[str]
"""Families of identifiers: the first part of a RuleKind's value, for example `name` for `name.patient`."""

FAMILIES: Final[Families] = frozenset(kind.family for kind in RuleKind if kind is not RuleKind.TRAP)
_CAPITALIZED: Final = frozenset({"name", "place", "org", "profession"})
_WITH_DIGITS: Final = frozenset({"age", "date", "place", "id", "contact"})
# Words in the names of labels, in the languages of the notes, for label sets that the rules don't know.
_IN_NAMES: Final = {
    family: any_of(f"evidence.{family}") for family in FAMILIES - {"profession", "sex", "family", "trait"}
}
# Words that belong to an identifier only between supported words.
_GLUE: Final = frozenset(listed("evidence_glue"))
_TITLES: Final = frozenset(listed("evidence_titles"))
# Kinds whose words are all from lists, such as cities.
_FROM_LISTS: Final = frozenset(
    {RuleKind.CITY, RuleKind.REGION, RuleKind.STATE, RuleKind.COUNTRY, RuleKind.ZIP, RuleKind.PROFESSION, RuleKind.USER}
)
_UNITS: Final = frozenset(listed("evidence_units"))


class Support(IntEnum):
    """How well a token is supported.

    GLUE counts between supported tokens, UNIT beside them, such as "anni" or "Dr". SHAPE, capital letters or figures,
    counts if nothing else could be meant, or if the model confirms it.
    """

    NONE = 0
    GLUE = 1
    UNIT = 2
    SHAPE = 3
    KNOWN = 4


def families_of(label: LabelWord, label_set: str) -> Families:
    """The families of identifiers that a label can stand for; all if neither rules nor its name tell."""
    try:
        kinds = [kind for kind, code in label_table(label_set).items() if code == label.code]
    except BackendError:
        kinds = []
    known = {kind.family for kind in kinds}
    if not known:
        words = " ".join((label.code, label.name, label.placeholder)).casefold()
        known = {family for family, pattern in _IN_NAMES.items() if re.search(pattern, words)}
    return frozenset(known) or FAMILIES


class Evidence:
    """The support of each token of a piece of a note."""

    def __init__(self, text: str, tokens: Sequence[Token]) -> None:
        self._words = [text[token.start : token.end] for token in tokens]
        self._hits = _covering(tokens, identifiers(text))
        self._traps = _covering(tokens, trap_hits(text))
        self._starts = [token.start for token in tokens]
        self._street_ends = self._last_figures()
        self._first, self._mixed = _sentence_starts(text, tokens, self._words)

    def of(self, at: int, families: Families) -> Support:
        """The support of a token as a part of an identifier of one of the families."""
        word = self._words[at]
        if not word[0].isalnum() or word in _GLUE or (len(word) > 1 and word.casefold() in _GLUE):
            return self._by_rule(at, families) or Support.GLUE
        if self.is_clinical(at, families):
            return Support.NONE
        if "name" in families and self._is_name(at):
            return Support.KNOWN
        found = self._by_rule(at, families)
        if found is not None:
            return found
        if word[0].isdigit():
            return Support.SHAPE if families & _WITH_DIGITS and not self._traps[at] else Support.NONE
        if (word.casefold() in _UNITS and "age" in families) or (word.casefold() in _TITLES and "name" in families):
            return Support.UNIT
        # Capital letters tell nothing at the start of a sentence, and where everything is written in them.
        capital = word[0].isupper() and at not in self._first and self._mixed[at]
        return Support.SHAPE if capital and families & _CAPITALIZED else Support.NONE

    def is_clinical(self, at: int, families: Families) -> bool:
        """Whether a token is a clinical word, and no part of a name or of an institution ("Istituto Tumori")."""
        word = self._words[at]
        lower = word.casefold()
        if not word[0].isalpha() or self._is_given(at):
            return False
        if self._hits[at] is not None and self._family(at) == "org" and "org" in families:
            return False
        if self._traps[at] is not None and word[0].isupper():
            return not self._can_be_surname(at)
        if "name" in families and families.isdisjoint({"place", "org"}) and len(word) > 2:
            no_name = lower in word_set("not_names") and lower not in _TITLES
            return no_name or is_clinical_word(word)
        return is_clinical_word(word)

    def _is_name(self, at: int) -> bool:
        """Whether a token is a listed given name, or a listed surname that doesn't follow a clinical word."""
        listed_surname = self._words[at][0].isupper() and self._words[at].casefold() in word_set("surnames")
        return self._is_given(at) or (listed_surname and not (at and is_clinical_word(self._words[at - 1])))

    def _can_be_surname(self, at: int) -> bool:
        """Whether the name of a disease or test can be a person's here: "Dr. Turner", "John Turner", "Turner, John"."""
        hit = self._hits[at]
        if hit is not None and hit.kind in NAMES and hit.start == self._starts[at]:
            return True
        after_given = at > 0 and self._is_given(at - 1)
        before_given = self._words[at + 1 : at + 2] == [","] and at + 2 < len(self._words) and self._is_given(at + 2)
        return after_given or before_given

    def _is_given(self, at: int) -> bool:
        return self._words[at][0].isupper() and self._words[at].casefold() in ALL_GIVEN

    def _family(self, at: int) -> str:
        hit = self._hits[at]
        return hit.kind.family if hit else ""

    def _by_rule(self, at: int, families: Families) -> Support | None:
        """The support by a rule; None without one. Rules for names and places extend over any capitalized words."""
        hit = self._hits[at]
        if hit is None or self._family(at) not in families:
            return None
        if self._family(at) not in _CAPITALIZED or hit.kind in _FROM_LISTS:
            return Support.KNOWN
        word = self._words[at]
        lower = word.casefold()
        if hit.kind is RuleKind.STREET:
            known = at < self._street_ends[hit.start] or lower in _street_types()
        elif hit.kind in NAMES:
            known = False
        else:
            known = lower in places() or lower in listed("general_care", "general_es", "general_it")
        if known:
            return Support.KNOWN
        return Support.SHAPE if word[0].isupper() or word[0].isdigit() else None

    def _last_figures(self) -> dict[int, int]:
        """By the start of each street, the token after its last figure; its words before that are enclosed."""
        found: dict[int, int] = {}
        for at, hit in enumerate(self._hits):
            if hit is not None and hit.kind is RuleKind.STREET:
                found.setdefault(hit.start, -1)
                if self._words[at][0].isdigit():
                    found[hit.start] = at + 1
        return found


def _covering(tokens: Sequence[Token], hits: Sequence[Hit]) -> list[Hit | None]:
    """For each token the hit that covers it. The hits are in order and don't overlap."""
    found: list[Hit | None] = []
    at = 0
    for token in tokens:
        while at < len(hits) and hits[at].end <= token.start:
            at += 1
        covers = at < len(hits) and hits[at].start <= token.start and token.end <= hits[at].end
        found.append(hits[at] if covers else None)
    return found


@cache
def _street_types() -> frozenset[str]:
    return frozenset(word.casefold() for word in listed("street_types_es", "street_types_it", "street_types_en"))


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


# Examples for prompts, with invented notes and the labels of a project (Xu et al. 2026, appendix A.1).


def shots_of(language: str, labels: Sequence[LabelWord], label_set: str) -> list[Shot]:
    """The examples of a language (`prompts/examples.<language>.json`); identifiers without a label are left out."""
    try:
        table: Mapping[RuleKind, str | None] = label_table(label_set)
    except BackendError:
        table = {}
    codes = {label.code for label in labels}
    families = {label.code: families_of(label, label_set) for label in labels}

    def code_of(kind: str) -> str | None:
        code = table.get(RuleKind(kind))
        alone = (one for one, each in families.items() if each == {kind.partition(".")[0]})
        return code if code in codes else next(alone, None)

    file = Path(__file__).with_name("prompts") / f"examples.{language}.json"
    return [
        Shot(each["text"], [(words, code) for words, kind in each["identifiers"] if (code := code_of(kind))])
        for each in json.loads(file.read_text(encoding="utf-8"))
    ]
