"""What strong evidence found once counts everywhere in the note, whole words only.

Names by their words, hospitals by the part of the name that is their own, and days by the months of full dates.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from models_runtime.backends.rules.checks import real_date
from models_runtime.backends.rules.dates import FULL, PART, could_be_part
from models_runtime.backends.rules.engine import TOKEN, Scan
from models_runtime.backends.rules.gazetteers import listed, places, word_set
from models_runtime.backends.rules.kinds import NAMES, Kind
from models_runtime.backends.rules.reading import LETTER, UP, words_of
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
    """More hits that the settled `hits` make likely, none of them overlapping a hit or a trap."""
    places_again = _again(text, scanned.capitals, _names(text, hits), _hospitals(text, hits))
    taken = bytearray(len(text))
    for hit in (*hits, *(hit for hit in scanned.hits if hit.kind is Kind.TRAP)):
        taken[hit.start : hit.end] = b"\1" * (hit.end - hit.start)
    free = [place for place in places_again if taken.find(1, place[0], place[1]) < 0]
    small = _small(text, {text[start:end].lower() for start, end, _, rule in free if rule is NAME})
    found: list[Hit] = []
    for start, end, kind, rule in (*free, *_days(text, _months(text, hits))):
        if taken.find(1, start, end) >= 0 or (rule is NAME and text[start:end].lower() in small):
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


def _small(text: str, names: set[str]) -> set[str]:
    """The names that the note also writes small: words of every day."""
    return {token[0] for token in TOKEN.finditer(text) if token[0] in names} if names else set()


def _names(text: str, hits: Sequence[Hit]) -> dict[str, Kind]:
    """The words of the names, lower-cased, with their kinds."""
    known: dict[str, Kind] = {}
    for hit in hits:
        if hit.kind in NAMES and hit.rule.strong:
            for word in words_of(text[hit.start : hit.end]):
                if word.lower() not in word_set("not_names"):
                    known.setdefault(word.lower(), hit.kind)
    return known


def _hospitals(text: str, hits: Sequence[Hit]) -> dict[str, tuple[str, Kind]]:
    """What is a hospital's own in its name ("virgen de la vega"), by its first word; never a town."""
    found: dict[str, tuple[str, Kind]] = {}
    for hit in hits:
        if hit.kind not in (Kind.HOSPITAL, Kind.CARE_CENTRE) or not hit.rule.strong:
            continue
        for word in _LETTERS.finditer(text, hit.start, hit.end):
            if word[0].lower() not in listed("general_care"):
                own = text[word.start() : hit.end].strip('"”» ').lower()
                if " " in own and own not in places() and len(found) < _MOST_HOSPITALS:
                    found.setdefault(word[0].lower(), (own, hit.kind))
                break
    return found


def _again(
    text: str, capitals: Iterable[tuple[str, int, int]], names: dict[str, Kind], hospitals: dict[str, tuple[str, Kind]]
) -> Iterator[tuple[int, int, Kind, Rule]]:
    """Where a remembered name or hospital stands."""
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
    """The months of the note's full dates and those beside them; True: dates that begin with the month."""
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
    """`2/14` in a note of 2/17/2022: a day and month in the order of the note's dates, near them, that no score is."""
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
