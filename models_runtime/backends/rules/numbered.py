"""Identifiers by the word before them: the shape that the rules of all languages share."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from models_runtime.backends.rules.dates import MEASURE
from models_runtime.backends.rules.gazetteers import RuleKind, any_of, either
from models_runtime.backends.rules.phrases import LETTER, after, before, digits
from models_runtime.backends.rules.rule import DIGITS, Finder, Found, Rule, declared, pattern, strong, words

SIGN: Final = r"(?:n[ºo°ª.]{1,3}|nr\.?|no\.?|núm\.?|num\.?|número|numero|number|id|code|#)"
"""Words and signs for "number"."""
END: Final = rf"(?![0-9A-Za-z]|[.,][0-9]|[\-/](?:[0-9]|[A-Z]{{1,3}}(?![A-Za-z]))|[ ]?(?:{any_of('numbered.end')}))"
# Around a code in small letters: no word of small letters that stands apart.
_NO_WORD: Final = "(?![a-z]+[ ])"
_NO_LAST_WORD: Final = "".join(f"(?<![ ][a-z]{{{length}}})" for length in range(1, 5))


def _after_word(kind: RuleKind, code: str, middle: str = "") -> Finder:
    """A finder of a code after a word: `Passaporto n. YA4410278`. `middle`: for words after the trigger.

    Between the word and the code there may be a word or sign for "number", a colon and blanks. The code is written as
    `code` has it, or in small letters: then no word of small letters stands apart in it, because "plate from 2019" and
    "carta di 123456" have no code.
    """
    gap = rf"(?:[ ]?{SIGN}(?![a-z]))?[ ]?[:.]?[ ]{{0,2}}"
    either_case = rf"(?P<code>{code}|{_NO_WORD}(?i:{code}){_NO_LAST_WORD})"
    expression = rf"(?<![A-Za-z]-)(?i:{LETTER}+{middle}{gap})(?<![A-Za-z0-9]){either_case}{END}"
    return pattern(expression, code=kind)


_CODE: Final = r"[A-Z]{0,4}[\-/]?[0-9][0-9A-Z]*(?:[\-/][0-9A-Z]+){0,4}"
# As in "N. pratica 2023/4471", "Nº de registro 44817", "Visit number 44817203" and "ID: P0044817".
_AFTER_SIGN: Final = re.compile(
    r"(?:(?i:n[.º°ª]{1,3}|no[.:]|nr[.:]|núm\.|num\.|número|numero|number)"
    rf"(?P<thing>[ ]?(?:(?:de|di|of)[ ])?(?:{either('numbered_things')}))?|"
    rf"(?P<sure>(?i:(?<=s/)n)|ID))[ ]?[:.#]{{0,2}}[ ]{{0,2}}(?P<code>{_CODE}){END}"
)
# "#" is not a trigger word, so these codes are found at their digits.
_AFTER_HASH: Final = re.compile(r"#[:.]?[ ]?(?P<letters>[A-Z]{0,3}-?)\Z")
_REST: Final = re.compile(rf"[0-9][0-9A-Z]*(?:[\-/][0-9A-Z]+){{0,4}}{END}")
# Laws, standards and forms have numbers too, and "the number 48210" counts something.
LAW: Final = re.compile(rf"(?<![a-zà-ÿ])(?:{any_of('numbered.law')})(?:[ ]\([a-z]{{2,3}}\))?[ ,]{{1,2}}\Z")
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
    hashed = _AFTER_HASH.search(text, max(0, start - 7), start)
    match = _REST.match(text, start) if hashed else None
    if hashed is None or match is None or not _is_code(match[0]):
        return
    at = start - len(hashed["letters"])
    if not is_count(text, hashed.start(), at, match.end()):
        yield at, match.end(), RuleKind.CASE


def _is_code(code: str) -> bool:
    return digits(code) >= _LEAST


def is_count(text: str, sign: int, start: int, end: int) -> bool:
    """Whether the number counts or measures something, by its form or the words before its sign and after it."""
    ahead = after(text, end)
    return (
        _ROUND.fullmatch(text, start, end) is not None
        or _COUNTED.search(before(text, sign, 24)) is not None
        or MEASURE.match(ahead) is not None
        or _COUNT_AFTER.match(ahead) is not None
    )


# Numbers that are identifiers by the word before them: records, cards, licenses, cases, devices.


# What may come between the word and its number.
_GAP: Final = (
    r"(?i)[ \xa0]{0,3}(?:(?:n[ºo°ª.]{0,3}|nº\.?|num(?:ero)?\.?|núm(?:ero)?\.?|nr\.?|no\.?|number|code|cod(?:ice)?\.?|"
    r"id|#|is|del paciente|paziente|cl[ií]nica|colegiado|sanitari[oa]|cl\.|"
    r"iban)(?![a-z])[ \xa0]?)?+[.:#=\-]{0,2}[ \xa0]{0,3}(?:(?:n[ºo°.]{1,3}|nr\.?|#)[ ]{0,2})?(?:nhc-(?=[0-9]))?"
)
_CASE_GAP: Final = r"(?i)(?:[ ]?(?:n[ºo°.]{0,2}|nr\.?|num(?:ero)?\.?|#|number))?[ ]?[.:]?[ ]{0,2}(?=[0-9A-Z])"
_MORE_CODE: Final = re.compile(r"[^\W\d_]|[\-/][0-9]")
_ANY_CODE: Final = r"(?:[A-Z]{0,4}[\-/ ]?)?[0-9][0-9A-Z]*(?:[\-/.][0-9A-Z]+)*"


def _named(kind: RuleKind, code: str = _ANY_CODE, *, least: int = 4, gap: str = _GAP, apart: bool = False) -> Finder:
    """A code after the trigger word and a gap, with at least `least` digits. `apart`: the gap must not be empty."""
    number, space = re.compile(code), re.compile(gap)

    def find(text: str, start: int, end: int) -> Iterator[Found]:
        between = space.match(text, end)
        if between is None or (apart and between.end() == end):
            return
        match = number.match(text, between.end())
        if match is None:
            return
        at, stop = match.span()
        while text[stop - 1] in " .-/":
            stop -= 1
        if digits(text[at:stop]) >= least and not _MORE_CODE.match(text, stop):
            yield at, stop, kind

    return find


_CASE_NUMBER: Final = _named(
    RuleKind.CASE,
    r"[0-9]{1,6}(?:-[0-9]{2,6})?(?![0-9]|[.,%:/][0-9]|[ ]?(?:%|€|\$|euros?|dollars?|d[ei][ ][0-9]|of[ ][0-9]))",
    gap=_CASE_GAP,
    least=1,
    apart=True,
)
# "in questo caso 15 litri", "en cada caso 3"
_ANY_CASE: Final = re.compile(r"(?:questo|nel|ogni|este|cada|el|su|per|por|this|each|any|in)[ ]\Z")


def _case(text: str, start: int, end: int) -> Iterable[Found]:
    return () if _ANY_CASE.search(before(text, start)) else _CASE_NUMBER(text, start, end)


_PLAN: Final = _named(
    RuleKind.HEALTH_PLAN,
    r"[0-9]{4}(?:[ ][0-9]{4}){1,4}(?![0-9A-Za-z.,/\-])|[A-Z]{0,4}[\- ]?[0-9]{2,}(?:[\-/][0-9A-Z]+)*",
)
# "Hospital policy 2019 applies": a year, and no number of an insurance.
_POLICY_YEAR: Final = re.compile(r"[ ](?:19|20)[0-9]{2}(?![0-9A-Za-z/\-]|[ ][0-9])")


def _policy(text: str, start: int, end: int) -> Iterable[Found]:
    return () if _POLICY_YEAR.match(text, end) else _PLAN(text, start, end)


RULES: Final = (
    *declared("named", _named, strong=True),
    strong("id.plan", _PLAN, 78, words("member póliza poliza mutua subscriber insurance afiliado")),
    strong("id.plan.policy", _policy, 78, words("policy")),
    strong("id.case", _case, 60, words("caso case")),
    Rule("id.number.sign", _signed, 44, words("n nº nª nr núm num número numero number id")),
    Rule("id.number.no", _no, 44, words("no")),
    Rule("id.number.hash", _hashed, 44, DIGITS[2:]),
    *declared("numbered", _after_word, rank=78, strong=True),
)
