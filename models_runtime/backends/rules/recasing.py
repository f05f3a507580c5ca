"""Capital letters for text that is written in lower case, so that the rules find names and places in it.

Only lines without any capital letter change, and every word keeps its length, so that offsets stay. Lines that are a
field for a name or an address, or that hold an e-mail address or a postal code, get capitals at all their words except
prepositions and articles. Other lines change only in notes with hardly any capitals, and only at names after titles
and relations, known given names, listed places and names of hospitals.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple

from models_runtime.backends.rules.en import names as en
from models_runtime.backends.rules.es import names as es
from models_runtime.backends.rules.gazetteers import either, listed, places, word_set
from models_runtime.backends.rules.it import names as it
from models_runtime.backends.rules.names import ALL_GIVEN, GIVEN_OR_SURNAMES
from models_runtime.backends.rules.phrases import LETTER

_FEW: Final = 0.01
"""The share of capitals among the letters up to which a note counts as written in lower case."""
_LONGEST_LINE: Final = 400
"""Characters of a line with an e-mail address or a postal code, at most; longer ones are prose."""
_MOST_WORDS: Final = 12
"""Words of a field's value, at most; longer ones are prose."""

_WORD: Final = re.compile(rf"{LETTER}+")
_FIELD: Final = re.compile(rf"[\W\d]*(?:{either('named_fields')})(?!{LETTER})[^:\n]{{0,30}}:(?P<value>[^\n]*)")
_ADDRESS: Final = re.compile(
    rf"@|(?<![a-zà-ÿ])(?:c/|(?:{either('street_types_es', 'street_types_it')}|hospital|ospedale)\b)"
    r"[^\n]{0,120}(?<![0-9])[0-9]{5}(?![0-9])"
    r"|(?<![0-9.,])[0-9]{1,5}[ ](?:[a-z]+[ ]){1,2}(?:street|avenue|road|lane|drive|boulevard|blvd|ave|rd|ln)"
    r"(?:[.,]|\Z|[ ](?:apt|suite|unit)\b)"
)
_STATE: Final = re.compile(rf"(?<=, )(?i:{either('state_codes')})(?=[ ][0-9]{{5}}(?![0-9]))")
# E-mail addresses, web addresses and codes of letters and digits keep their case.
_KEPT: Final = re.compile(r"[^\s]*@[^\s]*|(?:https?:|www\.)[^\s]*|(?<=[0-9])[a-zà-ÿ]{2,}|[a-zà-ÿ]+(?=[0-9])")
# Identity numbers and codes: "dni 44817203f", "cip an0541887730".
_CODE: Final = re.compile(
    r"(?<![\w.,@/\-])(?:[xyz]?[0-9]{7,8}[a-z]|[a-z]{1,3}-?[0-9]{4,}[a-z0-9\-]*|[0-9]{2}[a-z]-[0-9]{4,})(?![\w@.]\w)"
)
_TITLE_GAP: Final = re.compile(r"[.:ªº]{0,2}[ ]{1,2}|[.:]")
_GAP: Final = re.compile(r"[ ]{1,2}|\.[ ]|-")
_ENDS: Final = re.compile(r"[ ]*(?:[.,;:)(\n]|\Z)|[ ](?:y|e|and)[ ]")
# "vancouver b1", "ann arbor iiia": a grade of a classification.
_GRADE: Final = re.compile(r"[ ](?:[ivx]{1,4}[a-c]?|[a-z][0-9]\w*|[a-z])(?!\w)")
_FROM: Final = re.compile(
    r"(?<![a-zà-ÿ])(?:natural(?: y vecin[oa])? de|viv(?:e|[ií]a) (?:en|a)|resid(?:e|ente|enti) (?:en|a|in)|"
    r"proced(?:e|ente) de|nacid[oa] en|vecin[oa] de|originari[oa] d[ei]|oriund[oa] de|viajes? (?:reciente )?a|"
    r"viaggio (?:recente )?(?:a|in)|trasladad[oa] (?:de|desde|a)|trasferit[oa] (?:a|da)|nat[oa] (?:a|ad|in)|"
    r"abita (?:a|in)|proveniente da|lives in|living in|born in|moved to|native of|resident of|"
    r"(?:llegad|vuelt|venid)[oa] de|regres\w+ de|travel(?:ed)? to|from)[ ]\Z"
)


class _Word(NamedTuple):
    start: int
    end: int
    word: str


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
    field = _FIELD.match(line)
    if field is not None and _is_value(field["value"]):
        return _with_capitals(line, _all_words(line))
    if not lower:
        return line
    if len(line) <= _LONGEST_LINE and _ADDRESS.search(line):
        return _with_capitals(line, _all_words(line))
    return _with_capitals(line, _named(line))


def _is_value(value: str) -> bool:
    """Whether the text after a field is a name or an address, and no prose: "paciente: acude por dolor"."""
    found = [word.lower() for word in _WORD.findall(value)]
    if not found or len(found) > _MOST_WORDS:
        return bool(found) and _ADDRESS.search(value) is not None
    return found[0] not in _prose() or found[0] in _TITLES or found[0] in places() or found[0] in _STREETS


def _with_capitals(line: str, starts: Iterator[int]) -> str:
    letters = list(line)
    for start in starts:
        capital = letters[start].upper()
        if len(capital) == 1:
            letters[start] = capital
    changed = _CODE.sub(lambda match: match[0].upper(), "".join(letters))
    return _STATE.sub(lambda match: match[0].upper(), changed) if ", " in changed else changed


def _all_words(line: str) -> Iterator[int]:
    """The starts of all words except articles, prepositions and parts of addresses on the internet."""
    kept = {at for match in _KEPT.finditer(line) for at in range(*match.span())}
    for match in _WORD.finditer(line):
        if match.start() not in kept and match[0] not in _SMALL:
            yield match.start()


def _named(line: str) -> Iterator[int]:
    """The starts of words that name somebody or something, in prose."""
    found = [_Word(*match.span(), match[0]) for match in _WORD.finditer(line)]
    at, starts = 0, _starts()
    while at < len(found):
        word = found[at].word
        if word not in starts:
            at += 1
            continue
        stop = at
        if word in _TITLES and _gap(line, found, at, _TITLE_GAP) and found[at + 1].word in _TITLES:
            at += 1
            continue
        if word in _TITLES:
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
        first = at if word not in _TITLES and word not in _BEFORE_NAMES else at + 1
        for named in found[first:stop]:
            if named.word not in _SMALL or _is_initial(line, named):
                yield named.start
        at = max(stop, at + 1)


def _gap(line: str, found: list[_Word], at: int, gap: re.Pattern[str]) -> bool:
    return at + 1 < len(found) and gap.fullmatch(line, found[at].end, found[at + 1].start) is not None


def _is_initial(line: str, word: _Word) -> bool:
    return len(word.word) == 1 and line.startswith(".", word.end)


def _name(line: str, found: list[_Word], at: int, *, titled: bool = False) -> int:
    """The index after the name that starts at word `at`, or `at` itself if there is none.

    A name consists of known names, and of other words right after a title or at the end of a phrase.
    """
    stop = at
    for index in range(at, min(at + 6, len(found))):
        word = found[index].word
        if index > at and not _gap(line, found, index - 1, _GAP):
            break
        if word in _PARTICLES or _is_initial(line, found[index]):
            continue
        surname = index + 1 < len(found) and found[index + 1].word in GIVEN_OR_SURNAMES
        known = word in GIVEN_OR_SURNAMES or (word in _EVERYDAY and (stop > at or surname))
        unknown = len(word) > 2 and word not in _prose()
        first = titled and stop == at and line[found[at].start - 2] in ".ªº:"
        last = stop > at and _ENDS.match(line, found[index].end) is not None
        if not ((known and word not in _prose()) or (unknown and (first or last))):
            break
        stop = index + 1
    return stop


def _hospital(line: str, found: list[_Word], at: int) -> int:
    """The index after the name of the hospital that starts at word `at`; `at` itself if no name follows."""
    stop = at
    for index in range(at + 1, min(at + 8, len(found))):
        if not _gap(line, found, index - 1, _GAP):
            break
        word = found[index].word
        if word in _SAINTS or word in GIVEN_OR_SURNAMES or places().get(word, (None, False))[1]:
            stop = index + 1
        elif word not in _SMALL and word not in _GENERAL:
            break
    return stop


def _place(line: str, found: list[_Word], at: int) -> int:
    """The index after the listed place that starts at word `at`; `at` itself if there is none."""
    for length in (4, 3, 2, 1):
        if at + length > len(found) or line[found[at].end : found[at + length - 1].end].count(" ") != length - 1:
            continue
        phrase = line[found[at].start : found[at + length - 1].end]
        known = places().get(phrase)
        if known is None or len(phrase) < 4 or _GRADE.match(line, found[at + length - 1].end):
            continue
        behind = line[max(0, found[at].start - 24) : found[at].start]
        sure = known[1] and phrase not in _prose() and phrase not in GIVEN_OR_SURNAMES and phrase not in _NO_PLACES
        if sure or _FROM.search(behind):
            return at + length
    return at


@cache
def _prose() -> frozenset[str]:
    """Words of sentences, which begin no name."""
    groups = ("sentence_starts", "statuses", "persons", "relations", "place_prepositions", "months", "weekdays")
    things = ("eponym_heads", "eponym_tails", "eponym_name_tails", "town_tails", "named_after_tails")
    verbs = (word for words in (es.WORDS, it.WORDS, en.WORDS) for word in (*words.does, *words.has))
    return word_set("not_names").union(
        listed(*groups), listed("lower_prose", "work_es", "work_it", "work_en"), listed(*things), verbs
    )


@cache
def _starts() -> frozenset[str]:
    """The words at which a name, a place or a hospital may start."""
    first = (match[0] for place in places() if (match := _WORD.match(place)))
    return _TITLES.union(_BEFORE_NAMES, _common_given(), _CAPITAL_WORDS, _HOSPITALS, first)


@cache
def _common_given() -> frozenset[str]:
    """Given names that are no everyday words, so that they need no title."""
    others = (word_set("eponyms"), word_set("drugs"), _EVERYDAY, _ORDINARY, _prose(), places())
    return frozenset(word for word in ALL_GIVEN if len(word) > 3).difference(*others)


_EVERYDAY: Final = frozenset(listed("everyday_names", "eponym_given"))
_ORDINARY: Final = frozenset(listed("lower_words"))
_NO_PLACES: Final = _ORDINARY.union(word_set("eponyms"), listed("everyday_towns"))
_STREETS: Final = frozenset(listed("street_types_es", "street_types_it")) | {"c"}
_PARTICLES: Final = frozenset(listed("name_particles"))
_SMALL: Final = _PARTICLES.union(
    listed("phrase_links", "place_prepositions"), ("con", "por", "para", "per", "with", "of", "su", "un", "una")
)
_TITLES: Final = frozenset(listed("lower_titles"))
_CAPITAL_TITLES: Final = frozenset({"mr", "mrs", "ms", "miss"})
_BEFORE_NAMES: Final = frozenset(listed("relations")) | {"pt", "pte", "pz", "pac", "mir"}
_HOSPITALS: Final = frozenset({"hospital", "clínica", "ospedale", "policlinico", "hospitales"})
_GENERAL: Final = frozenset(listed("general_es", "general_it", "general_care"))
_SAINTS: Final = frozenset(
    {"san", "santa", "sant", "santo", "virgen", "infanta", "reina", "príncipe", "nuestra", "señora"}
)
_CAPITAL_WORDS: Final = frozenset(listed("months")[24:]) - {"may", "march"} | frozenset(listed("weekdays_en"))
