"""Names of persons in English text."""

import re
from collections.abc import Iterator
from typing import Final

from models_runtime.backends.rules.bare import GIVEN, Age, NameCues, given_names, is_word
from models_runtime.backends.rules.clinical import is_clinical_word
from models_runtime.backends.rules.gazetteers import alternatives, listed, open_given, places, word_set
from models_runtime.backends.rules.kinds import RuleKind
from models_runtime.backends.rules.phrases import LETTER, SMALL_LETTER, UP
from models_runtime.backends.rules.rule import DIGITS, Found, Rule, words
from models_runtime.backends.rules.running import NO_NAMES, SURE

WORDS: Final = NameCues(
    does=words(
        "reports reported denies denied states stated says said lives lived feels felt complains complained asks asked "
        "wants wanted walked walks refuses refused understands understood agrees agreed becomes became "
        "slept sleeps ate "
        "eats drinks drank describes described prefers called pulled cried laughs smiles hopes plans tells told came "
        "comes went goes returns returned brings brought knows thinks believes wishes works worked smokes smoked quit "
        "tolerates enjoys remembers recalls arrived left signed fell woke wakes declines declined accepts accepted "
        "attends attended joined plays stays stayed moved underwent endorses endorsed mentions mentioned "
        " explains explained takes took uses used has_never has_been_told was_seen was_admitted is_able "
        "does did talks spoke needs weighs sits stands sat stood seems looks verbalized verbalizes ambulated"
    ),
    has=words("is was has had will would can could should may presents presented remains continues received and who"),
    between=words("also not never still now then today who she he does did has had is was"),
    leads=words(
        "to with for of from by and that when while because if told tell find found saw see met yesterday today "
        "tonight according both patient about since although where whether after before visited assessed examined "
        "help helped monday tuesday wednesday thursday friday saturday sunday than nor or"
    ),
)

_SURNAME: Final = re.compile(rf"[ ](?P<name>[{UP}]{SMALL_LETTER}{{2,}})(?=['’]s|[ ]{SMALL_LETTER}|[.,;:!?)\n]|\Z)")
_ACTS: Final = re.compile(rf"[ ](?:{alternatives(verb.replace('_', ' ') for verb in WORDS.does)})(?!{LETTER})")
_LED: Final = re.compile(r"(?<!\w)(?:(?i:with|by|saw|met|told|asked|called|named)|[A-Z][a-z]+ [A-Z][a-z]+ and)[ ]\Z")
_NO_SURNAMES: Final = NO_NAMES.union(
    word_set("eponyms"), listed("common_surnames", "eponym_tails", "months", "weekdays_en", "services", "place_tails")
)


def _like_words(text: str, start: int, end: int) -> Iterator[Found]:
    """A full name whose given name is a word: `Hope Price called`, `came with Grace Rich`."""
    surname = _SURNAME.match(text, end) if is_word(text, start, end) else None
    if surname is None or surname["name"].lower() in _NO_SURNAMES or is_clinical_word(surname["name"]):
        return
    led = text[start:end] not in ("Will", "May") and _LED.search(text, max(0, start - 32), start)
    if led or _ACTS.match(text, surname.end()):
        yield start, surname.end(), RuleKind.PERSON


_LIKE_WORDS: Final = (
    (word_set("given_en") | word_set("more_given_en") | open_given("en") | {"will", "may", *listed("everyday_names")})
    & GIVEN
) - SURE.union(places())

RULES: Final = (
    Rule("name.word.en", _LIKE_WORDS, _like_words, 0.85, rank=44, capital=True),
    *given_names(
        "en",
        WORDS,
        described=Age(
            words("is was a"),
            r"(?:is|was)?[ ]?(?:an?|now)[ ](?:[a-z\-]+[ ]){0,2}[0-9]{1,3}[\- ](?:year|month|week|"
            r"day)s?[\- ]old(?![a-z])",
            0.9,
        ),
        figures=Age(
            frozenset(DIGITS[1:4]),
            r"[1-9][0-9]?(?:,|[ ](?:years|yrs)(?![a-z]))(?![0-9])",
            0.85,
        ),
    ),
)
