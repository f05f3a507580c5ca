"""Text that looks like an identifier and is none: eponyms, doses, pressures, scores. Weak rules don't count there."""

import re
from collections.abc import Iterator
from typing import Final

from models_runtime.backends.rules.gazetteers import listed, word_set
from models_runtime.backends.rules.kinds import Kind
from models_runtime.backends.rules.phrases import LETTER, UP
from models_runtime.backends.rules.rule import DIGITS, Found, Rule, pattern, words

_HEADED: Final = re.compile(
    rf"[ ](?:(?:de|del|di|d['’]|von|van|of|la|las|los|tipo|positivo|negativo|lupus|modificada|de "
    rf"la)[ ]?){{0,3}}+(?P<name>[{UP}]{LETTER}+(?:['’]s)?(?:(?:[ ]?[\-–/]|[ ](?:y|e|and|&|de|von|van|i)[ ]|"
    rf"[ ])[{UP}]{LETTER}+){{0,4}})"
)


def _headed(text: str, start: int, end: int) -> Iterator[Found]:
    match = _HEADED.match(text, end)
    if match is not None:
        yield match.start("name"), match.end("name"), Kind.TRAP


_TAILED: Final = re.compile(rf"(?P<name>[{UP}]{LETTER}+(?:[\-–][{UP}]{LETTER}+)*(?:['’]s)?)[ ]\Z")


def _tailed(text: str, start: int, end: int) -> Iterator[Found]:
    low = max(0, start - 40)
    match = _TAILED.search(text[low:start])
    if match is not None:
        yield low + match.start("name"), low + match.end("name"), Kind.TRAP


def _eponym(text: str, start: int, end: int) -> Iterator[Found]:
    if text[start].isupper():
        yield start, end, Kind.TRAP


RULES: Final = (
    Rule("trap.eponym.head", frozenset(listed("eponym_heads")), _headed, 1.0),
    Rule("trap.eponym.tail", frozenset(listed("eponym_tails")), _tailed, 1.0),
    Rule("trap.eponym.word", word_set("eponyms"), _eponym, 1.0),
    Rule(
        "trap.pressure",
        words("pa ta bp pas pad"),
        pattern(
            r"(?i)(?:pa|ta|bp|pas|pad)[ :.=]{0,3}(?:[a-zà-ÿ]{2,10}[ ]){0,2}(?P<value>[0-9]{2,3}/[0-9]{2,3})",
            value=Kind.TRAP,
        ),
        1.0,
    ),
    Rule(
        "trap.measure",
        frozenset(DIGITS[1:5]),
        pattern(
            r"(?<![0-9\-/.,])(?P<value>[0-9]{1,4}(?:[.,][0-9]+)?(?:[/\-][0-9]{1,3})?)[ ]?(?:mg|mcg|µg|g|gr|kg|ml|cc|"
            r"l|cm|mm|mmHg|UI|U|IU|mEq|mmol|meq|%|bpm|lpm|rpm|cm3|mm3|x|dl|ng|pg|Gy|kcal)(?![A-Za-zà-ÿ])",
            value=Kind.TRAP,
        ),
        1.0,
    ),
)
