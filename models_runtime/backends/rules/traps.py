"""Text that looks like an identifier and is none: eponyms, drugs, scores, doses. Weak rules don't count there."""

import re
from collections.abc import Iterator
from typing import Final

from models_runtime.backends.rules.gazetteers import alternatives, any_of, either, listed, phrases, places, word_set
from models_runtime.backends.rules.phrases import LETTER, UP, before
from models_runtime.backends.rules.rule import Found, Rule, RuleKind

_HEADED: Final = re.compile(
    rf"(?:[ ](?:[A-D]|[IVX]{{1,4}}[AaBb]?|[0-9]))?[ ](?:(?:de|del|di|d['’]|von|van|of|la|las|los|tipo|positivo|"
    rf"negativo|lupus|modificada|según|secondo|de la)[ ]?){{0,3}}+(?P<name>[{UP}]{LETTER}+(?:['’]s)?(?:(?:[ ]?[\-–/]|"
    rf"[ ](?:y|e|and|&|de|von|van|i)[ ]|[ ])[{UP}]{LETTER}+){{0,4}})"
)


def _headed(text: str, start: int, end: int) -> Iterator[Found]:
    if match := _HEADED.match(text, end):
        yield *match.span("name"), RuleKind.TRAP


_TAILED: Final = re.compile(rf"(?P<name>[{UP}]{LETTER}+(?:[ \-–][{UP}]{LETTER}+){{0,3}}+(?:['’]s)?)[ ]\Z")


def _tailed(text: str, start: int, end: int) -> Iterator[Found]:
    if match := _TAILED.search(text, max(0, start - 40), start):
        yield *match.span("name"), RuleKind.TRAP


# Towns that are eponyms too: "llegó de Glasgow" and "from Glasgow", but "escala de Glasgow".
_ARRIVED: Final = re.compile(rf"(?<![a-zà-ÿ])(?:{any_of('traps.arrived')})[ ]\Z")


def _eponym(text: str, start: int, end: int) -> Iterator[Found]:
    if text[start].isupper() and not (text[start:end].lower() in places() and _ARRIVED.search(before(text, start, 24))):
        yield start, end, RuleKind.TRAP


# Towns and states that name scales and diseases: "New York Heart Association", "Ottawa ankle rules", "Montreal A2L3B1".
_TOWNS: Final = frozenset(phrase.lower() for phrase in phrases("eponym_places"))
_TOWNS_FIRST: Final = frozenset(re.split(r"[ .'-]", town)[0] for town in _TOWNS)
_TOWN: Final = re.compile(rf"(?i:{alternatives(_TOWNS)})(?!{LETTER})")
_TOWN_AFTER: Final = re.compile(
    rf"(?:[ ](?:and|y|e)[ ][{UP}]{LETTER}+)?[ ](?:(?!(?:{either('after_places')})\b){LETTER}+[ ]){{0,4}}?"
    rf"(?i:{either('eponym_tails', 'town_tails')})(?!{LETTER})"
    rf"|[ ]?(?:[ ](?:modificad[oa]|revised|modified))?,?[ ](?:[IVX]{{1,4}}[abcABC]?|[A-E][0-9]?|[A-Z][0-9][A-Z0-9]*|"
    rf"[0-9]{{1,2}}(?:[./][0-9]{{1,2}})?(?=[ ]?[.,;:)]|\Z))(?![{UP}a-zà-ÿ0-9\-])|[ ](?:19|20)[0-9]{{2}}(?![0-9])"
)
_TOWN_BEFORE: Final = re.compile(
    f"(?<!{LETTER})(?:(?:{either('eponym_heads', 'town_heads')})(?:[ ](?:[a-e]|[ivx]{{1,4}}[ab]?|{LETTER}{{4,14}})"
    rf")?[ ]|(?:{any_of('traps.town_before')})[ ])(?:(?:de|di|of|the|los|las|la|el|quello|que)[ ]){{0,3}}\Z"
)


# "via Roma 5" is a street.
_STREET_BEFORE: Final = re.compile(
    rf"(?<!{LETTER})(?:c/|{either('street_types_es', 'street_types_it')})\.?[ ](?:(?:de|di|del|la)[ ])?\Z"
)


def _town(text: str, start: int, end: int) -> Iterator[Found]:
    """A town in the name of a scale, a classification or a disease."""
    behind = before(text, start)
    match = None if _STREET_BEFORE.search(behind) else _TOWN.match(text, start)
    if match is not None and (_TOWN_AFTER.match(text, match.end()) or _TOWN_BEFORE.search(behind)):
        yield match.start(), match.end(), RuleKind.TRAP


_PAIR: Final = re.compile(
    rf"(?:(?P<brand>{either('brand_names')})|(?P<surnames>{either('eponym_pairs')})|{either('eponym_names')})(?:['’]s)?(?!{LETTER})"
)
_PAIR_AFTER: Final = re.compile(rf"[ ](?:{either('eponym_name_tails', 'eponym_tails')})(?!{LETTER}|[ ]for[ ])")
_PAIR_ENDS: Final = re.compile(rf"[ ]?(?:[.;:)\n]|,[ ][{UP}]|\Z)|[ ](?:{any_of('traps.pair_ends')})")
_PAIR_BEFORE: Final = re.compile(rf"(?:{any_of('traps.pair_before')})[ ]\Z")


def _pair(text: str, start: int, end: int) -> Iterator[Found]:
    """An eponym that looks like a full name, beside words that show it: `Charles Bonnet probable`, `Rose Waaler 40`."""
    match = _PAIR.match(text, start)
    if match is None:
        return
    alone = match["brand"] or (match["surnames"] and _PAIR_ENDS.match(text, match.end()))
    if alone or _PAIR_AFTER.match(text, match.end()) or _PAIR_BEFORE.search(before(text, start, 16)):
        yield match.start(), match.end(), RuleKind.TRAP


_CYPRUS: Final = re.compile(r"(?:(?<![a-z])(?:a|da|verso|per|isola di|repubblica di)[ ])\Z")


def _drug(text: str, start: int, end: int) -> Iterator[Found]:
    """A brand of a drug. Cipro is also the Italian name of a country."""
    if text[start].isupper() and not (text[start:end] == "Cipro" and _CYPRUS.search(before(text, start, 20))):
        yield start, end, RuleKind.TRAP


RULES: Final = (
    Rule("trap.eponym.town", _town, triggers=_TOWNS_FIRST, capital=True),
    Rule("trap.drug", _drug, triggers=word_set("drugs")),
    Rule("trap.eponym.head", _headed, triggers=listed("eponym_heads")),
    Rule("trap.eponym.tail", _tailed, triggers=listed("eponym_tails")),
    Rule(
        "trap.eponym.pair",
        _pair,
        triggers=frozenset(
            pair.split(" ")[0].lower() for pair in listed("eponym_pairs", "eponym_names", "brand_names")
        ),
        capital=True,
    ),
    Rule("trap.eponym.word", _eponym, triggers=word_set("eponyms")),
)
