"""Fields in lower case whose value is a name, a place or an address: which part of their line gets capitals.

A field that is nothing but a name or an address ("nombre") takes any words that aren't clinical or of a sentence. Other
fields ("responsable", "provincia") need a title, a listed name or place, or a word for a street.
"""

import re
from collections.abc import Sequence
from functools import cache
from itertools import pairwise
from typing import Final

from models_runtime.backends.rules.bare import GIVEN
from models_runtime.backends.rules.clinical import is_clinical_word
from models_runtime.backends.rules.gazetteers import either, listed, places, word_set
from models_runtime.backends.rules.lower_words import (
    ADDRESS,
    EVERYDAY,
    LONGEST_LINE,
    ORDINARY,
    PARTICLES,
    SMALL,
    STREETS,
    TITLES,
    Word,
    prose,
    words_of,
)
from models_runtime.backends.rules.names import ALL_GIVEN, GIVEN_OR_SURNAMES
from models_runtime.backends.rules.phrases import LETTER

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
    found = words_of(line, field.end())
    if found and ADDRESS.search(line, field.end()):
        return len(line)
    if not found or len(found) > _MOST_WORDS:
        return 0
    where = field["where"] or field["place"]
    if where and _is_place(line, found, sure=bool(field["place"])):
        return len(line)
    sure = bool(field["name"]) and _MORE.issuperset(word.word for word in words_of(field["more"]))
    return _name_end(line, found) if _is_name(line, found, sure=sure) else 0


def _is_common(word: str) -> bool:
    return word in prose() or word in _other_words() or is_clinical_word(word)


@cache
def _other_words() -> frozenset[str]:
    return word_set("drugs").union(listed("before_persons", "person_leads", "talks", "person_verbs", "treated"))


def _is_place(line: str, found: Sequence[Word], *, sure: bool) -> bool:
    first = found[0].word
    ends = (word.end for word in found[:5])
    if first in STREETS or any(line[found[0].start : end] in places() for end in ends):
        return True
    return sure and not any(_is_common(word.word) for word in found[:3] if word.word not in SMALL)


def _is_name(line: str, found: Sequence[Word], *, sure: bool) -> bool:
    """Whether the value begins with a name. `sure`: whether the field has no other values than names."""
    titles = 0
    while titles < len(found) and found[titles].word in TITLES:
        titles += 1
    named = [word for word in found[titles : titles + 4] if word.word not in PARTICLES or word.is_initial(line)]
    if not named or _DOSE.search(line, found[0].start):
        return False
    first, second = named[0].word, named[1].word if len(named) > 1 else ""
    if named[0].is_initial(line):
        return len(second) > 2 and not _is_common(second)
    if not (first in _sure_names() or (sure and first in _NAMES)) and _is_common(first):
        return False
    if titles and found[titles - 1].word not in _TITLES_AND_NOUNS:
        return True
    if sure:
        return first in _NAMES or second in _NAMES or not is_clinical_word(second)
    return first in _sure_names() or second in _sure_names() or (first in _NAMES and second in _NAMES)


@cache
def _sure_names() -> frozenset[str]:
    """Listed names that are no other words."""
    return frozenset(word for word in _NAMES.difference(EVERYDAY, ORDINARY) if not _is_common(word))


def _name_end(line: str, found: Sequence[Word]) -> int:
    """The end of the names at the start of a value: "maría garcía, alérgica a penicilina"."""
    given = False
    for at, (word, after) in enumerate(pairwise(found), 1):
        given = given or word.word in ALL_GIVEN
        known = after.word in _NAMES or after.word in TITLES or after.is_initial(line)
        if known or after.word in SMALL:
            continue
        common = _is_common(after.word)
        if (common and at > 1) or (_BREAK.search(line, word.end, after.start) and (common or given)):
            return word.end
    return found[-1].end
