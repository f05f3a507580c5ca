"""Search the whole note for what a strong rule found once, as whole words.

Names are searched word by word, hospitals by the distinctive part of their name, and days by the months of full dates.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from models_runtime.backends.rules.checks import real_date
from models_runtime.backends.rules.dates import FULL, PART, could_be_part
from models_runtime.backends.rules.engine import TOKEN, Scan
from models_runtime.backends.rules.gazetteers import listed, places, word_set
from models_runtime.backends.rules.kinds import NAMES, Kind
from models_runtime.backends.rules.phrases import LETTER, UP, words_of
from models_runtime.backends.rules.rule import Hit, Rule, nothing

NAME: Final = Rule("name.memory", frozenset(), nothing, 0.85, rank=20)
HOSPITAL: Final = Rule("org.memory", frozenset(), nothing, 0.85, rank=20)
DATE: Final = Rule("date.memory", frozenset(), nothing, 0.85, rank=20)
RULES: Final = (NAME, HOSPITAL, DATE)

_JOIN: Final = re.compile(r"[ ](?:(?:de|del|della|di|la|las|los|y)[ ]){0,3}")
_INITIALS: Final = re.compile(rf"(?<![A-Za-z])(?:[{UP}]\.[ ]?){{1,2}}\Z")
_LETTERS: Final = re.compile(rf"{LETTER}+")
_MOST_HOSPITALS: Final = 40


def remember(text: str, scanned: Scan, hits: Sequence[Hit]) -> list[Hit]:
    """Further hits that the resolved `hits` make likely. None of them overlaps a hit or a trap."""
    repeated = _repeated(text, scanned.capitals, _names(text, hits), _hospitals(text, hits))
    taken = bytearray(len(text))
    for hit in (*hits, *(hit for hit in scanned.hits if hit.kind is Kind.TRAP)):
        taken[hit.start : hit.end] = b"\1" * (hit.end - hit.start)
    free = [found for found in repeated if taken.find(1, found[0], found[1]) < 0]
    everyday = _everyday(text, {text[start:end].lower() for start, end, _, rule in free if rule is NAME})
    found: list[Hit] = []
    for start, end, kind, rule in (*free, *_days(text, _months(text, hits))):
        if taken.find(1, start, end) >= 0 or (rule is NAME and text[start:end].lower() in everyday):
            continue
        taken[start:end] = b"\1" * (end - start)
        if rule is NAME:
            initials = _INITIALS.search(text[max(0, start - 6) : start])
            start -= len(initials[0]) if initials else 0
            last = found[-1] if found else None
            if last and last.rule is NAME and last.kind is kind and _JOIN.fullmatch(text, last.end, start):
                found[-1] = Hit(last.start, end, kind, NAME)
                continue
        found.append(Hit(start, end, kind, rule))
    return found


def _everyday(text: str, names: set[str]) -> set[str]:
    """The names that the note also writes in lower case: these are everyday words."""
    return {token[0] for token in TOKEN.finditer(text) if token[0] in names} if names else set()


def _names(text: str, hits: Sequence[Hit]) -> dict[str, Kind]:
    """The words of the names that strong rules found, lower-cased, with their kinds."""
    known: dict[str, Kind] = {}
    for hit in hits:
        if hit.kind in NAMES and hit.rule.strong:
            for word in words_of(text[hit.start : hit.end]):
                if word.lower() not in word_set("not_names"):
                    known.setdefault(word.lower(), hit.kind)
    return known


def _hospitals(text: str, hits: Sequence[Hit]) -> dict[str, tuple[str, Kind]]:
    """The distinctive parts of hospital names ("virgen de la vega") by their first word, without names of towns."""
    found: dict[str, tuple[str, Kind]] = {}
    for hit in hits:
        if hit.kind not in (Kind.HOSPITAL, Kind.CARE_CENTER) or not hit.rule.strong:
            continue
        for word in _LETTERS.finditer(text, hit.start, hit.end):
            if word[0].lower() not in listed("general_care"):
                own = text[word.start() : hit.end].strip('"”» ').lower()
                if " " in own and own not in places() and len(found) < _MOST_HOSPITALS:
                    found.setdefault(word[0].lower(), (own, hit.kind))
                break
    return found


def _repeated(
    text: str, capitals: Iterable[tuple[str, int, int]], names: dict[str, Kind], hospitals: dict[str, tuple[str, Kind]]
) -> Iterator[tuple[int, int, Kind, Rule]]:
    """All locations of these names and hospitals."""
    if not names and not hospitals:
        return
    for lower, start, end in capitals:
        if lower in hospitals:
            own, kind = hospitals[lower]
            stop = start + len(own)
            if text[start:stop].lower() == own and not text[stop : stop + 1].isalnum():
                yield start, stop, kind, HOSPITAL
        if lower in names:
            yield start, end, names[lower], NAME


def _months(text: str, hits: Sequence[Hit]) -> dict[bool, set[int]]:
    """The months of the note's full dates, and the months before and after. Key: whether the month comes first."""
    found: dict[bool, set[int]] = {}
    for hit in hits:
        match = FULL.match(text, hit.start) if hit.rule.id == "date.figures" else None
        if match is None or match["iso"] or "/" not in match["t"]:
            continue
        a, b = int(match["a"]), int(match["b"])
        for month_first, month, day in ((True, a, b), (False, b, a)):
            if month <= 12 and day > 12:
                found.setdefault(month_first, set()).update((month + shift - 1) % 12 + 1 for shift in (-1, 0, 1))
    return found


def _days(text: str, months: dict[bool, set[int]]) -> Iterator[tuple[int, int, Kind, Rule]]:
    """Days and months in the order of the note's full dates and near them, such as `2/14` in a note of 2/17/2022."""
    for month_first, near in months.items():
        for match in PART.finditer(text):
            a, b = int(match["a"]), int(match["b"])
            month, day = (a, b) if month_first else (b, a)
            if (
                month in near
                and day > 12
                and match["s"] == "/"
                and real_date(day, month)
                and could_be_part(text, match)
            ):
                yield match.start(), match.end(), Kind.DATE, DATE
