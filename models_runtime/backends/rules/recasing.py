"""Capital letters for text that is written in lower case, so that the rules find names and places in it.

Only lines without any capital letter change, and every word keeps its length, so that offsets stay. In every note,
fields with a name or an address get capitals at all words except prepositions and articles (`lower_fields`). Other
lines change only in notes with hardly any capitals: at all words if they hold an e-mail address, a street or hospital
with a postal code, or an English street with a number; else only at names after titles and relations, known given
names, listed places and names of hospitals.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Final

from models_runtime.backends.rules.bare import GIVEN
from models_runtime.backends.rules.gazetteers import any_of, either, listed, places, word_set
from models_runtime.backends.rules.phrases import ALL_GIVEN, GIVEN_OR_SURNAMES, LETTER, is_clinical_word

# Words and expressions for text in lower case, shared by its fields (`lower_fields`) and its prose (`recasing`).


LONGEST_LINE: Final = 400
"""Characters of a field or of a line with an e-mail address or a street, at most; longer ones are prose."""

ADDRESS: Final = re.compile(
    rf"@|(?<![a-zà-ÿ])(?:c/|(?:{either('street_types_es', 'street_types_it')}|hospital|ospedale)\b)"
    r"[^\n]{0,120}(?<![0-9])[0-9]{5}(?![0-9])|(?<![0-9.,])[0-9]{1,5}[ ](?:[a-z]+[ ]){1,2}(?:street|avenue|road|lane|"
    r"drive|boulevard|blvd|ave|rd|ln)(?:[.,\r]|\Z|[ ](?:apt|suite|unit)\b)"
)
"""An e-mail address, a street or hospital with a postal code, an English street with a number. For short lines only."""
_WORD: Final = re.compile(rf"{LETTER}+")

EVERYDAY: Final = frozenset(listed("everyday_names", "eponym_given"))
ORDINARY: Final = frozenset(listed("lower_words"))
STREETS: Final = frozenset(listed("street_types_es", "street_types_it")) | {"c"}
PARTICLES: Final = frozenset(listed("name_particles"))
SMALL: Final = PARTICLES.union(
    listed("phrase_links", "place_prepositions"), ("con", "por", "para", "per", "with", "of", "su", "un", "una")
)
TITLES: Final = frozenset(listed("lower_titles"))


VERBS: Final = ("en.does", "en.has", "es.does", "es.has", "it.does", "it.has")
"""Groups of verbs of which persons are subjects."""


Word = re.Match[str]
"""A word in its line."""


def _words_of(line: str, start: int = 0) -> list[Word]:
    """The words of a line from `start` on."""
    return list(_WORD.finditer(line, start))


def _is_small(word: Word) -> bool:
    """Whether the word is an article, a preposition or a particle, and no initial."""
    return word[0] in SMALL and not _is_initial(word)


def _is_initial(word: Word) -> bool:
    """Whether the word is one letter with a period."""
    return len(word[0]) == 1 and word.string.startswith(".", word.end())


@cache
def prose() -> frozenset[str]:
    """Words of sentences, which begin no name."""
    groups = ("sentence_starts", "statuses", "persons", "relations", "place_prepositions", "months", "weekdays")
    things = ("eponym_heads", "eponym_tails", "eponym_name_tails", "town_tails", "named_after_tails")
    return word_set("not_names").union(
        listed(*groups), listed("lower_prose", "work_es", "work_it", "work_en"), listed(*things, *VERBS)
    )


# Fields in lower case whose value is a name, a place or an address: which part of their line gets capitals.
#
# A field that is nothing but a name or an address ("nombre") takes any words that aren't clinical or of a sentence.
# Other fields ("responsable", "provincia") need a title, a listed name or place, or a word for a street.


_MOST_WORDS: Final = 12
"""Words of a field's value, at most; longer ones are prose."""
_FIELD: Final = re.compile(
    rf"[\W\d]*+(?:(?P<name>{either('sure_name_fields')})|(?P<place>{either('sure_place_fields')})|"
    rf"(?P<where>{either('place_fields')})|{either('name_fields')})(?!{LETTER})(?P<more>[^:\n]{{0,30}}):"
)
_MORE: Final = frozenset(listed("name_field_words"))
_DOSE: Final = re.compile(r"[0-9][ ]?(?:mg|mcg|µg|g|ml|ui|iu|%)(?!\w)")
_BREAK: Final = re.compile(r"[,;()0-9]")
_NAMES: Final = GIVEN | GIVEN_OR_SURNAMES | EVERYDAY
# "señora anciana", but "sra. etxegoien".
_TITLES_AND_NOUNS: Final = frozenset({"señor", "señora", "signora"})


def capitals_until(line: str) -> int:
    """The index up to which the words of a line get capitals, because it is a field with a name or an address.

    0 if the line is no such field.
    """
    field = _FIELD.match(line) if len(line) <= LONGEST_LINE else None
    if field is None:
        return 0
    found = _words_of(line, field.end())
    if found and ADDRESS.search(line, field.end()):
        return len(line)
    if not found or len(found) > _MOST_WORDS:
        return 0
    if (field["where"] or field["place"]) and _is_place(found, sure=bool(field["place"])):
        return len(line)
    sure = bool(field["name"]) and _MORE.issuperset(_WORD.findall(field["more"]))
    return _name_end(found) if _is_name(found, sure=sure) else 0


def _is_common(word: str) -> bool:
    return word in prose() or word in _other_words() or is_clinical_word(word)


@cache
def _other_words() -> frozenset[str]:
    return word_set("drugs").union(listed("before_persons", "person_leads", "talks", "person_verbs", "treated"))


def _is_place(found: Sequence[Word], *, sure: bool) -> bool:
    value = found[0].string[found[0].start() :]
    ends = (word.end() - found[0].start() for word in found[:5])
    if found[0][0] in STREETS or any(value[:end] in places() for end in ends):
        return True
    return sure and not any(_is_common(word[0]) for word in found[:3] if word[0] not in SMALL)


def _is_name(found: Sequence[Word], *, sure: bool) -> bool:
    """Whether the value begins with a name. `sure`: whether the field has no other values than names."""
    titles = next((at for at, word in enumerate(found) if word[0] not in TITLES), len(found))
    named = [word for word in found[titles : titles + 4] if word[0] not in PARTICLES or _is_initial(word)]
    if not named or _DOSE.search(found[0].string, found[0].start()):
        return False
    first, second = named[0][0], named[1][0] if len(named) > 1 else ""
    if _is_initial(named[0]):
        return len(second) > 2 and not _is_common(second)
    if not (first in _sure_names() or (sure and first in _NAMES)) and _is_common(first):
        return False
    if titles and found[titles - 1][0] not in _TITLES_AND_NOUNS:
        return True
    if sure:
        return first in _NAMES or second in _NAMES or not is_clinical_word(second)
    return first in _sure_names() or second in _sure_names() or (first in _NAMES and second in _NAMES)


@cache
def _sure_names() -> frozenset[str]:
    """Listed names that are not other words."""
    return frozenset(word for word in _NAMES.difference(EVERYDAY, ORDINARY) if not _is_common(word))


def _name_end(found: Sequence[Word]) -> int:
    """The end of the names at the start of a value: "maría garcía, alérgica a penicilina"."""
    given = False
    for at, (word, after) in enumerate(pairwise(found), 1):
        given = given or word[0] in ALL_GIVEN
        if after[0] in _NAMES or after[0] in TITLES or after[0] in SMALL or _is_initial(after):
            continue
        common = _is_common(after[0])
        if (common and at > 1) or (_BREAK.search(word.string, word.end(), after.start()) and (common or given)):
            return word.end()
    return found[-1].end()


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
# Codes and postal codes have as many digits.
_LONG_NUMBER: Final = re.compile(r"[0-9]{4}")
_TITLE_GAP: Final = re.compile(r"[.:ªº]{0,2}[ ]{1,2}|[.:]")
_GAP: Final = re.compile(r"[ ]{1,2}|\.[ ]|-")
_ENDS: Final = re.compile(r"[ ]*+(?:[.,;:)(\r]|\Z)|[ ](?:y|e|and)[ ]")
# "vancouver b1", "ann arbor iiia": a grade of a classification. "guinea pig": an animal.
_NO_PLACE: Final = re.compile(r"[ ](?:pigs?|[ivx]{1,4}[a-c]?|[a-z][0-9]\w*|[a-z])(?!\w)")
_FROM: Final = re.compile(rf"(?<![a-zà-ÿ])(?:{any_of('recasing.from')})[ ]\Z")


def recased(text: str) -> str:
    """The text with capitals where its lines in lower case name somebody or something. It keeps its length."""
    lines = text.split("\n")
    if not any(map(str.islower, lines)):
        return text
    capitals = sum(map(str.isupper, text))
    lower = not capitals or capitals <= _FEW * sum(map(str.isalpha, text))
    return "\n".join(_line(line, lower) if line.islower() else line for line in lines)


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
    changed = "".join(letters)
    if _LONG_NUMBER.search(changed):
        changed = _STATE.sub(_in_capitals, _CODE.sub(_in_capitals, changed))
    return changed


def _in_capitals(match: re.Match[str]) -> str:
    return match[0].upper()


def _all_words(line: str, stop: int) -> Iterator[int]:
    """The starts of all words before `stop` except articles, prepositions and parts of addresses on the internet."""
    if stop:
        kept = {at for match in _KEPT.finditer(line) for at in range(*match.span())}
        starts = (word.start() for word in _WORD.finditer(line) if word.start() < stop and not _is_small(word))
        yield from (start for start in starts if start not in kept)


def _named(line: str, start: int) -> Iterator[int]:
    """The starts of words from `start` on that name somebody or something, in prose."""
    found, starts, done = _words_of(line, start), _starts(), 0
    for at, match in enumerate(found):
        word = match[0]
        if word not in starts or at < done:
            continue
        stop, titled = at, word in TITLES
        leads = titled or word in _BEFORE_NAMES
        joined = leads and _gap(found, at, _TITLE_GAP)
        if titled and joined and found[at + 1][0] in TITLES:
            continue
        if joined or (not leads and word in _common_given()):
            stop = _name(found, at + leads, titled=titled)
        elif word in _CAPITAL_WORDS and not leads:
            yield match.start()
        if word in _CAPITAL_TITLES:
            yield match.start()
        if stop <= at and word in _HOSPITALS:
            stop = _hospital(found, at)
        if stop <= at:
            stop = _place(found, at)
        yield from (named.start() for named in found[at + leads : stop] if not _is_small(named))
        done = stop


def _gap(found: Sequence[Word], at: int, gap: re.Pattern[str]) -> bool:
    """Whether `gap` is all that stands between a word and the next one."""
    line = found[at].string
    return at + 1 < len(found) and gap.fullmatch(line, found[at].end(), found[at + 1].start()) is not None


def _name(found: Sequence[Word], at: int, *, titled: bool) -> int:
    """The index after the name that starts at word `at`, or `at` itself if there is none.

    A name consists of known names, and of other words right after a title or at the end of a phrase.
    """
    stop = at
    for index in range(at, min(at + 6, len(found))):
        word = found[index][0]
        if index > at and not _gap(found, index - 1, _GAP):
            break
        if word in PARTICLES or _is_initial(found[index]):
            continue
        surname = index + 1 < len(found) and found[index + 1][0] in GIVEN_OR_SURNAMES
        known = word in GIVEN_OR_SURNAMES or (word in EVERYDAY and (stop > at or surname))
        first = titled and stop == at and found[at].string[found[at].start() - 2] in ".ªº:"
        last = stop > at and _ENDS.match(found[index].string, found[index].end()) is not None
        if word in prose() or not (known or (len(word) > 2 and (first or last))):
            break
        stop = index + 1
    return stop


def _hospital(found: Sequence[Word], at: int) -> int:
    """The index after the name of the hospital that starts at word `at`; `at` itself if no name follows."""
    stop = at
    for index in range(at + 1, min(at + 8, len(found))):
        word = found[index][0]
        if not _gap(found, index - 1, _GAP):
            break
        if word in _SAINTS or word in GIVEN_OR_SURNAMES or places().get(word, (None, False))[1]:
            stop = index + 1
        elif word not in SMALL and word not in _GENERAL:
            break
    return stop


def _place(found: Sequence[Word], at: int) -> int:
    """The index after the listed place that starts at word `at`; `at` itself if there is none."""
    line, start, end = found[at].string, *found[at].span()
    for last in range(min(at + 4, len(found)), at, -1):
        stop = found[last - 1].end()
        phrase = line[start:stop]
        whole = len(phrase) > 3 and line.count(" ", end, stop) == last - at - 1
        known = places().get(phrase) if whole else None
        if known is None or _NO_PLACE.match(line, stop):
            continue
        sure = known[1] and phrase not in prose() and phrase not in GIVEN_OR_SURNAMES and phrase not in _NO_PLACES
        if sure or _FROM.search(line, max(0, start - 24), start):
            return last
    return at


@cache
def _starts() -> frozenset[str]:
    """The words at which a name, a place or a hospital may start."""
    first = (found[0] for found in map(_WORD.match, places()) if found)
    return TITLES.union(_BEFORE_NAMES, _common_given(), _CAPITAL_WORDS, _HOSPITALS, first)


@cache
def _common_given() -> frozenset[str]:
    """Given names that are not everyday words, so that they need no title."""
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
