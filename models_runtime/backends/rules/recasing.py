"""Capital letters for text that is written in lower case, so that the rules find names and places in it.

Only lines without any capital letter change, and every word keeps its length, so that offsets stay. In every note,
fields with a name or an address get capitals at all words except prepositions and articles (`lower_fields`). Other
lines change only in notes with hardly any capitals: at all words if they hold an e-mail address, a street or hospital
with a postal code, or an English street with a number; else only at names after titles and relations, known given
names, listed places and names of hospitals.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import Final

from models_runtime.backends.rules.gazetteers import either, listed, places, word_set
from models_runtime.backends.rules.lower_fields import capitals_until
from models_runtime.backends.rules.lower_words import (
    ADDRESS,
    EVERYDAY,
    LONGEST_LINE,
    ORDINARY,
    PARTICLES,
    SMALL,
    TITLES,
    Word,
    prose,
    words_of,
)
from models_runtime.backends.rules.names import ALL_GIVEN, GIVEN_OR_SURNAMES

_FEW: Final = 0.01
"""The share of capitals among the letters up to which a note counts as written in lower case."""

_STATE: Final = re.compile(rf"(?<=, )(?i:{either('state_codes')})(?=[ ][0-9]{{5}}(?![0-9]))")
# E-mail addresses, web addresses and codes of letters and digits keep their case.
_KEPT: Final = re.compile(
    r"(?<!\S)[^\s@]*+@\S*|(?:https?:|www\.)\S*|(?<=[0-9])[a-zà-ÿ]{2,}|(?<![a-zà-ÿ])[a-zà-ÿ]++(?=[0-9])"
)
# Identity numbers and codes: "dni 44817203f", "cip an0541887730".
_CODE: Final = re.compile(
    r"(?<![\w.,@/\-])(?:[xyz]?[0-9]{7,8}[a-z]|[a-z]{1,3}-?[0-9]{4}[a-z0-9\-]*+|[0-9]{2}[a-z]-[0-9]{4,}+)(?![\w@.]\w)"
)
_TITLE_GAP: Final = re.compile(r"[.:ªº]{0,2}[ ]{1,2}|[.:]")
_GAP: Final = re.compile(r"[ ]{1,2}|\.[ ]|-")
_ENDS: Final = re.compile(r"[ ]*+(?:[.,;:)(\r]|\Z)|[ ](?:y|e|and)[ ]")
# "vancouver b1", "ann arbor iiia": a grade of a classification. "guinea pig": an animal.
_NO_PLACE: Final = re.compile(r"[ ](?:pigs?|[ivx]{1,4}[a-c]?|[a-z][0-9]\w*|[a-z])(?!\w)")
_FROM: Final = re.compile(
    r"(?<![a-zà-ÿ])(?:natural(?: y vecin[oa])? de|viv(?:e|[ií]a) (?:en|a)|resid(?:e|ente|enti) (?:en|a|in)|"
    r"proced(?:e|ente) de|nacid[oa] en|vecin[oa] de|originari[oa] d[ei]|oriund[oa] de|viajes? (?:reciente )?a|"
    r"viaggio (?:recente )?(?:a|in)|trasladad[oa] (?:de|desde|a)|trasferit[oa] (?:a|da)|nat[oa] (?:a|ad|in)|"
    r"abita (?:a|in)|proveniente da|lives in|living in|born in|moved to|native of|resident of|"
    r"(?:llegad|vuelt|venid)[oa] de|regres\w+ de|travel(?:ed)? to|from)[ ]\Z"
)


def recased(text: str) -> str:
    """The text with capitals where its lines in lower case name somebody or something. It keeps its length."""
    lines = text.split("\n")
    if not any(map(str.islower, lines)):
        return text
    lower = _in_lower_case(text)
    return "\n".join(_line(line, lower) if line.islower() else line for line in lines)


def _in_lower_case(text: str) -> bool:
    capitals = sum(map(str.isupper, text))
    return capitals <= _FEW * sum(map(str.isalpha, text))


def _line(line: str, lower: bool) -> str:
    stop = capitals_until(line)
    if not stop and lower and len(line) <= LONGEST_LINE and ADDRESS.search(line):
        stop = len(line)
    named = _named(line, stop) if lower else ()
    return _with_capitals(line, [*_all_words(line, stop), *named]) if stop or lower else line


def _with_capitals(line: str, starts: Iterable[int]) -> str:
    letters = list(line)
    for start in starts:
        capital = letters[start].upper()
        if len(capital) == 1:
            letters[start] = capital
    changed = _CODE.sub(lambda match: match[0].upper(), "".join(letters))
    return _STATE.sub(lambda match: match[0].upper(), changed) if ", " in changed else changed


def _all_words(line: str, stop: int) -> Iterator[int]:
    """The starts of all words before `stop` except articles, prepositions and parts of addresses on the internet."""
    if not stop:
        return
    kept = {at for match in _KEPT.finditer(line) for at in range(*match.span())}
    for found in words_of(line):
        small = found.word in SMALL and not found.is_initial(line)
        if found.start < stop and found.start not in kept and not small:
            yield found.start


def _named(line: str, start: int) -> Iterator[int]:
    """The starts of words from `start` on that name somebody or something, in prose."""
    found = words_of(line, start)
    at, starts = 0, _starts()
    while at < len(found):
        word = found[at].word
        if word not in starts:
            at += 1
            continue
        stop = at
        if word in TITLES and _gap(line, found, at, _TITLE_GAP) and found[at + 1].word in TITLES:
            at += 1
            continue
        if word in TITLES:
            if word in _CAPITAL_TITLES:
                yield found[at].start
            stop = _name(line, found, at + 1, titled=True) if _gap(line, found, at, _TITLE_GAP) else at
        elif word in _BEFORE_NAMES:
            stop = _name(line, found, at + 1) if _gap(line, found, at, _TITLE_GAP) else at
        elif word in _common_given():
            stop = _name(line, found, at)
        elif word in _CAPITAL_WORDS:
            yield found[at].start
        if stop <= at and word in _HOSPITALS:
            stop = _hospital(line, found, at)
        if stop <= at:
            stop = _place(line, found, at)
        first = at if word not in TITLES and word not in _BEFORE_NAMES else at + 1
        for named in found[first:stop]:
            if named.word not in SMALL or named.is_initial(line):
                yield named.start
        at = max(stop, at + 1)


def _gap(line: str, found: list[Word], at: int, gap: re.Pattern[str]) -> bool:
    return at + 1 < len(found) and gap.fullmatch(line, found[at].end, found[at + 1].start) is not None


def _name(line: str, found: list[Word], at: int, *, titled: bool = False) -> int:
    """The index after the name that starts at word `at`, or `at` itself if there is none.

    A name consists of known names, and of other words right after a title or at the end of a phrase.
    """
    stop = at
    for index in range(at, min(at + 6, len(found))):
        word = found[index].word
        if index > at and not _gap(line, found, index - 1, _GAP):
            break
        if word in PARTICLES or found[index].is_initial(line):
            continue
        surname = index + 1 < len(found) and found[index + 1].word in GIVEN_OR_SURNAMES
        known = word in GIVEN_OR_SURNAMES or (word in EVERYDAY and (stop > at or surname))
        unknown = len(word) > 2 and word not in prose()
        first = titled and stop == at and line[found[at].start - 2] in ".ªº:"
        last = stop > at and _ENDS.match(line, found[index].end) is not None
        if not ((known and word not in prose()) or (unknown and (first or last))):
            break
        stop = index + 1
    return stop


def _hospital(line: str, found: list[Word], at: int) -> int:
    """The index after the name of the hospital that starts at word `at`; `at` itself if no name follows."""
    stop = at
    for index in range(at + 1, min(at + 8, len(found))):
        if not _gap(line, found, index - 1, _GAP):
            break
        word = found[index].word
        if word in _SAINTS or word in GIVEN_OR_SURNAMES or places().get(word, (None, False))[1]:
            stop = index + 1
        elif word not in SMALL and word not in _GENERAL:
            break
    return stop


def _place(line: str, found: list[Word], at: int) -> int:
    """The index after the listed place that starts at word `at`; `at` itself if there is none."""
    for length in (4, 3, 2, 1):
        if at + length > len(found) or line[found[at].end : found[at + length - 1].end].count(" ") != length - 1:
            continue
        phrase = line[found[at].start : found[at + length - 1].end]
        known = places().get(phrase)
        if known is None or len(phrase) < 4 or _NO_PLACE.match(line, found[at + length - 1].end):
            continue
        behind = line[max(0, found[at].start - 24) : found[at].start]
        sure = known[1] and phrase not in prose() and phrase not in GIVEN_OR_SURNAMES and phrase not in _NO_PLACES
        if sure or _FROM.search(behind):
            return at + length
    return at


@cache
def _starts() -> frozenset[str]:
    """The words at which a name, a place or a hospital may start."""
    first = (found[0].word for place in places() if (found := words_of(place)) and found[0].start == 0)
    return TITLES.union(_BEFORE_NAMES, _common_given(), _CAPITAL_WORDS, _HOSPITALS, first)


@cache
def _common_given() -> frozenset[str]:
    """Given names that are no everyday words, so that they need no title."""
    others = (word_set("eponyms"), word_set("drugs"), EVERYDAY, ORDINARY, prose(), places())
    return frozenset(word for word in ALL_GIVEN if len(word) > 3).difference(*others)


_NO_PLACES: Final = ORDINARY.union(word_set("eponyms"), listed("everyday_towns"))
_CAPITAL_TITLES: Final = frozenset({"mr", "mrs", "ms", "miss"})
_BEFORE_NAMES: Final = frozenset(listed("relations")) | {"pt", "pte", "pz", "pac", "mir"}
_HOSPITALS: Final = frozenset(
    {"hospital", "hospitales", "clínica", "clinica", "clinic", "ospedale", "ospedali", "policlinico"}
)
_GENERAL: Final = frozenset(listed("general_es", "general_it", "general_care"))
_SAINTS: Final = frozenset(
    {"san", "santa", "sant", "santo", "virgen", "infanta", "reina", "príncipe", "nuestra", "señora"}
)
_CAPITAL_WORDS: Final = frozenset(listed("months_en", "weekdays_en"))
