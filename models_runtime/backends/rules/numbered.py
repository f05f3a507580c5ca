"""Identifiers by the word before them: the shape that the rules of all languages share."""

import re
from collections.abc import Iterator
from typing import Final

from models_runtime.backends.rules.dates import MEASURE
from models_runtime.backends.rules.gazetteers import either
from models_runtime.backends.rules.kinds import RuleKind
from models_runtime.backends.rules.phrases import LETTER, after, before
from models_runtime.backends.rules.rule import DIGITS, Found, Rule, pattern, words

SIGN: Final = r"(?:n[ºo°ª.]{1,3}|nr\.?|no\.?|núm\.?|num\.?|número|numero|number|id|code|#)"
"""Words and signs for "number"."""
END: Final = (
    r"(?![0-9A-Za-z]|[.,][0-9]|[\-/](?:[0-9]|[A-Z]{1,3}(?![A-Za-z]))|[ ]?(?:%|mg\b|ml\b|UI\b|IU\b|units\b|"
    r"euros?\b|dollars\b))"
)
# Around a code in small letters: no word of small letters that stands apart.
_NO_WORD: Final = "(?![a-z]+[ ])"
_NO_LAST_WORD: Final = "".join(f"(?<![ ][a-z]{{{length}}})" for length in range(1, 5))


def numbered(name: str, triggers: str, code: str, kind: RuleKind, *, middle: str = "", capital: bool = False) -> Rule:
    """A rule for a code after a word: `Passaporto n. YA4410278`. `middle`: an expression for words after the trigger.

    Between the word and the code there may be a word or sign for "number", a colon and blanks. The code is written as
    `code` has it, or in small letters: then no word of small letters stands apart in it, because "plate from 2019" and
    "carta di 123456" have no code. `capital`: the word has a capital letter.
    """
    gap = rf"(?:[ ]?{SIGN}(?![a-z]))?[ ]?[:.]?[ ]{{0,2}}"
    either_case = rf"(?P<code>{code}|{_NO_WORD}(?i:{code}){_NO_LAST_WORD})"
    expression = rf"(?<![A-Za-z]-)(?i:{LETTER}+{middle}{gap})(?<![A-Za-z0-9]){either_case}{END}"
    return Rule(name, words(triggers), pattern(expression, code=kind), 0.85, rank=78, strong=True, capital=capital)


_CODE: Final = r"[A-Z]{0,4}[\-/]?[0-9][0-9A-Z]*(?:[\-/][0-9A-Z]+){0,4}"
# As in "N. pratica 2023/4471", "Nº de registro 44817", "Visit number 44817203" and "ID: P0044817".
_AFTER_SIGN: Final = re.compile(
    r"(?:(?i:n[.º°ª]{1,3}|no[.:]|nr[.:]|núm\.|num\.|número|numero|number)"
    rf"(?P<thing>[ ]?(?:(?:de|di|of)[ ])?(?:{either('numbered_things')}))?|"
    rf"(?P<sure>(?i:(?<=s/)n)|ID))[ ]?[:.#]{{0,2}}[ ]{{0,2}}(?P<code>{_CODE}){END}"
)
# "#" is no trigger word, so these codes are found at their digits.
_AFTER_HASH: Final = re.compile(r"#[:.]?[ ]?(?P<letters>[A-Z]{0,3}-?)\Z")
_REST: Final = re.compile(rf"[0-9][0-9A-Z]*(?:[\-/][0-9A-Z]+){{0,4}}{END}")
# Laws, standards and forms have numbers too, and "the number 48210" counts something.
LAW: Final = re.compile(
    r"(?<![a-zà-ÿ])(?:legge|l\.|d\.?[ ]?lgs\.?|decreto|dpcm|dpr|d\.?m\.?|regolamento|direttiva|delibera|dgr|circolare|"
    r"nota|"
    r"ley|real decreto|rd|directiva|reglamento|resolución|norma|iso|une|uni|en|act|regulation|directive|rule|law|"
    r"omb|cas|ce|ue|cee|eu|ec|"
    r"art\.?|artículo|articolo|aic|form|cat|catálogo|catalogo|chapter|section|the|an?|un|este|this)"
    r"(?:[ ]\([a-z]{2,3}\))?[ ,]{1,2}\Z"
)
# An order of a government has the year after its number: "Orden nº 1355/2018", but "Orden nº 44817".
ORDER: Final = re.compile(r"(?<![a-zà-ÿ])orden[ ,]{1,2}\Z")
_WITH_YEAR: Final = re.compile(r"[^/]*/(?:19|20)[0-9]{2}")
# Round numbers of five and more digits are mostly counts.
_ROUND: Final = re.compile(r"[1-9][0-9]?0{3,}")
# Counts of cells and copies: "Plaquetas número 245000", "n. 10500 colonie".
_COUNTED: Final = re.compile(rf"(?<![a-zà-ÿ])(?:{either('counted_things')})[ ]?[:(]?[ ]?\Z")
_COUNT_AFTER: Final = re.compile(rf"[ ]?(?:/[ ]?(?:ml|mm|[µu]?l\b)|(?:{either('counted_things')})\b)")
_ITALIAN_MOBILE: Final = re.compile(r"3[0-9]{2}[/\-][0-9]{6,7}")
_THING_BEFORE: Final = re.compile(rf"(?<![a-zà-ÿ])(?:{either('numbered_things')})(?![a-zà-ÿ])")
_LEAST: Final = 5
_GOES_ON: Final = frozenset(" .:º°ª#")


def _signed(text: str, start: int, end: int) -> Iterator[Found]:
    """A code of at least five digits after a word for "number", whatever it is the number of."""
    if text[end : end + 1] not in _GOES_ON:
        return
    match = _AFTER_SIGN.match(text, start)
    if match is None or not _is_code(match["code"]):
        return
    behind = before(text, start, 24)
    if _ITALIAN_MOBILE.fullmatch(match["code"]) and not _THING_BEFORE.search(behind):
        yield *match.span("code"), RuleKind.PHONE
        return
    if LAW.search(behind) or (ORDER.search(behind) and _WITH_YEAR.fullmatch(match["code"])):
        return
    if match["thing"] or match["sure"] or not is_count(text, start, *match.span("code")):
        yield *match.span("code"), RuleKind.CASE


def _no(text: str, start: int, end: int) -> Iterator[Found]:
    if text[end : end + 1] in (".", ":"):
        yield from _signed(text, start, end)


def _hashed(text: str, start: int, end: int) -> Iterator[Found]:
    """A number of at least five digits after `#`."""
    low = max(0, start - 7)
    hashed = _AFTER_HASH.search(text[low:start]) if text.find("#", low, start) >= 0 else None
    match = _REST.match(text, start) if hashed else None
    if hashed is None or match is None or not _is_code(match[0]):
        return
    at = start - len(hashed["letters"])
    if not is_count(text, low + hashed.start(), at, match.end()):
        yield at, match.end(), RuleKind.CASE


def _is_code(code: str) -> bool:
    return sum(ch.isdigit() for ch in code) >= _LEAST


def is_count(text: str, sign: int, start: int, end: int) -> bool:
    """Whether the number counts or measures something, by its form or the words before its sign and after it."""
    ahead = after(text, end)
    return (
        _ROUND.fullmatch(text, start, end) is not None
        or _COUNTED.search(before(text, sign, 24)) is not None
        or MEASURE.match(ahead) is not None
        or _COUNT_AFTER.match(ahead) is not None
    )


RULES: Final = (
    Rule("id.number.sign", words("n nº nª nr núm num número numero number id"), _signed, 0.8, rank=44),
    Rule("id.number.no", words("no"), _no, 0.8, rank=44),
    Rule("id.number.hash", frozenset(DIGITS[2:]), _hashed, 0.8, rank=44),
)
