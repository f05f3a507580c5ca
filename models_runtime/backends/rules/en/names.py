"""Names of persons in English text."""

from typing import Final

from models_runtime.backends.rules.bare import Age, Words, given_names
from models_runtime.backends.rules.rule import DIGITS, words

WORDS: Final = Words(
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

RULES: Final = given_names(
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
)
