"""Towns, listed or not, after what somebody does there: lives, was born, works, comes from, spends the summer."""

import re
from collections.abc import Iterator
from typing import Final

from models_runtime.backends.rules.bare import GIVEN
from models_runtime.backends.rules.gazetteers import either, listed, places, word_set
from models_runtime.backends.rules.kinds import RuleKind
from models_runtime.backends.rules.phrases import LETTER, TOWN, UP, cut_town
from models_runtime.backends.rules.rule import Found, Rule

_NEXT: Final = re.compile(rf"[ ](?:(?:la|las|los|el|the|l['’])[ ]?(?=[{UP}]))?(?P<town>{TOWN})(?P<end>[ ][a-zà-ÿ]+|)")
_WORDS: Final = r"(?:[ ](?!(?:y|e|and|but|pero|ma)[ ])[a-zà-ÿ0-9]+){0,3}"
_STAYS: Final = re.compile(rf"(?<!{LETTER})(?:{either('stay_stems')})[a-zà-ÿ]{{0,8}}{_WORDS}[ ]\Z", re.IGNORECASE)
# The English "a" is no preposition.
_STAYS_EN: Final = re.compile(rf"(?<!{LETTER})(?:{either('stay_stems_en')})[a-z]{{0,8}}{_WORDS}[ ]\Z", re.IGNORECASE)
_WHENCE: Final = re.compile(rf"(?<!{LETTER})(?:{either('origin_stems')})[a-zà-ÿ]{{0,8}}[ ]\Z", re.IGNORECASE)
_NEAR: Final = re.compile(rf"(?<!{LETTER})(?:{either('near_towns')})[ ]\Z", re.IGNORECASE)
_IS: Final = re.compile(r"(?<![a-zà-ÿ])(?:es|è|is|was|era|son|are|sono|originally)[ ]\Z", re.IGNORECASE)
_NO_TOWNS: Final = word_set("not_names").union(
    word_set("drugs"),
    ("sept",),
    listed("months", "months_short", "weekdays", "weekdays_en", "work_es", "work_it", "work_en", "no_towns"),
)
_LINK: Final = re.compile(r"[ ](?:y|e|i)[ ]")
_NAMED_AFTER: Final = re.compile(rf"[ ](?:{either('eponym_tails', 'town_tails', 'named_after_tails')})(?!{LETTER})")
# "Malattie Infettive", "Atención Primaria", "Neuropediatría"
_FIELD_OF_WORK: Final = re.compile(
    r"\w+(?:log[iíy]a?|logie|iatr[iíy]a|iatrics|ología|ción|zione|tion|mente|ores|ive)\Z"
)
_OF: Final = frozenset({"de", "del", "di", "dal", "dalla", "dall", "da", "from", "desde"})
_FROM: Final = frozenset({"from", "desde", "da", "dal", "dalla"})
_PHRASE_ENDS: Final = re.compile(r"[\n.;:,!?()]")
_IN: Final = frozenset({"en", "in", "a", "ad", "to", "outside", "near", "at", "around", "hasta"})


def _staying(text: str, start: int, end: int) -> Iterator[Found]:
    """`Trabaja de camarero en Mayorga`, `weekends are spent in Eye`, `Paciente de Glasgow`."""
    ahead = text[end + 1 : end + 2]
    match = _NEXT.match(text, end) if ahead.isupper() or ahead in ("l", "e", "t") else None
    if match is None:
        return
    at, town = match.start("town"), _LINK.split(cut_town(match["town"]))[0]
    if len(town) < 3 or not _may_be_town(town) or _NAMED_AFTER.match(text, at + len(town)):
        return
    behind = _PHRASE_ENDS.split(text[max(0, start - 60) : start])[-1]
    if not _somebody_there(text[start:end].lower(), behind, town):
        return
    article = text[end + 1 : at].strip().capitalize()
    if article and f"{article} {town}".lower() in places():
        at, town = end + 1, text[end + 1 : at + len(town)]
    yield at, at + len(town), places().get(town.lower(), (RuleKind.CITY, True))[0]


def _first(town: str) -> str:
    parts = town.lower().split(" ")
    return parts[1] if len(parts) > 1 and parts[0] in listed("town_starts") else parts[0]


def _may_be_town(town: str) -> bool:
    if _first(town) in _NO_TOWNS or (town.isupper() and len(town) < 5):
        return False
    return town.lower() in places() or not (town.isupper() or _FIELD_OF_WORK.match(_first(town)))


def _somebody_there(word: str, behind: str, town: str) -> bool:
    """Whether the preposition `word`, and what comes before it, tell where somebody is or comes from."""
    known, person = town.lower() in places(), _first(town) in GIVEN
    if person and not known and word not in ("en", "in", "outside", "near"):
        return False
    if word in _OF and (_WHENCE.search(behind) or _NEAR.search(behind)):
        return True
    if word in _OF and (known or not person) and _IS.search(behind):
        return True
    if word not in _IN and word not in _FROM:
        return False
    return bool(_STAYS.search(behind)) or (word not in ("a", "ad") and bool(_STAYS_EN.search(behind)))


RULES: Final = (Rule("place.stay", _OF | _IN, _staying, 0.8, rank=33, strong=True),)
