"""Names of persons in English text whose given names are words."""

import re
from collections.abc import Iterator
from typing import Final

from models_runtime.backends.rules.bare import GIVEN, is_word
from models_runtime.backends.rules.gazetteers import RuleKind, either, listed, open_given, places, word_set
from models_runtime.backends.rules.phrases import LETTER, SMALL_LETTER, UP, is_clinical_word
from models_runtime.backends.rules.rule import Found, Rule
from models_runtime.backends.rules.running import NO_NAMES, SURE

_SURNAME: Final = re.compile(rf"[ ](?P<name>[{UP}]{SMALL_LETTER}{{2,}})(?=['’]s|[ ]{SMALL_LETTER}|[.,;:!?)\n]|\Z)")
_ACTS: Final = re.compile(rf"[ ](?:{either('en.does')})(?!{LETTER})")
_LEAD: Final = re.compile(r"(?<!\w)(?:(?i:with|by|saw|met|told|asked|called|named)|[A-Z][a-z]+ [A-Z][a-z]+ and)[ ]\Z")
_NO_SURNAMES: Final = NO_NAMES.union(
    word_set("eponyms"), listed("common_surnames", "eponym_tails", "months", "weekdays_en", "services", "place_tails")
)


def _like_words(text: str, start: int, end: int) -> Iterator[Found]:
    """A full name whose given name is a word: `Hope Price called`, `came with Grace Rich`."""
    surname = _SURNAME.match(text, end) if is_word(text, start, end) else None
    if surname is None or surname["name"].lower() in _NO_SURNAMES or is_clinical_word(surname["name"]):
        return
    led = text[start:end] not in ("Will", "May") and _LEAD.search(text, max(0, start - 32), start)
    if led or _ACTS.match(text, surname.end()):
        yield start, surname.end(), RuleKind.PERSON


_LIKE_WORDS: Final = (
    (word_set("given_en") | word_set("more_given_en") | open_given("en") | {"will", "may", *listed("everyday_names")})
    & GIVEN
) - SURE.union(places())

RULES: Final = (Rule("name.word.en", _like_words, 44, _LIKE_WORDS, capital=True, language="en"),)
