"""What strong evidence found once counts everywhere in the note, whole words only.

Names by their words, hospitals by the part of the name that is their own, and days by the months of full dates.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from models_runtime.backends.rules.checks import real_date
from models_runtime.backends.rules.dates import FULL, PART, could_be_part
from models_runtime.backends.rules.engine import TOKEN
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


def remember(text: str, hits: Sequence[Hit], trapped: Iterable[tuple[int, int]]) -> list[Hit]:
    """More hits that the settled `hits` make likely, none of them overlapping a hit or a trap."""
    names, small = _names(text, hits)
    hospitals = _hospitals(text, hits)
    months = _months(text, hits)
    taken = bytearray(len(text))
    for start, end in [(hit.start, hit.end) for hit in hits] + list(trapped):
        taken[start:end] = b"\1" * (end - start)
    found: list[Hit] = []
    for start, end, kind, rule in (*_again(text, names, small, hospitals), *_days(text, months)):
        if taken.find(1, start, end) >= 0:
            continue
        last = found[-1] if found else None
        if last and last.rule is rule is NAME and last.kind is kind and _JOIN.fullmatch(text, last.end, start):
            found[-1] = Hit(last.start, end, kind, NAME)
        else:
            found.append(Hit(start, end, kind, rule))
        taken[start:end] = b"\1" * (end - start)
    return found


def _names(text: str, hits: Sequence[Hit]) -> tuple[dict[str, Kind], set[str]]:
    """The words of the names, lower-cased, with their kinds; and those the note also writes small: everyday words."""
    known: dict[str, Kind] = {}
    for hit in hits:
        if hit.kind in NAMES and hit.rule.strong:
            for word in words_of(text[hit.start : hit.end]):
                if word.lower() not in word_set("not_names"):
                    known.setdefault(word.lower(), hit.kind)
    small = {token[0] for token in TOKEN.finditer(text) if token[0] in known} if known else set()
    return known, small


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
    text: str, names: dict[str, Kind], small: set[str], hospitals: dict[str, tuple[str, Kind]]
) -> Iterator[tuple[int, int, Kind, Rule]]:
    """Where a remembered name, with the initials before it, or a remembered hospital stands."""
    if not names and not hospitals:
        return
    for token in TOKEN.finditer(text):
        word = token[0]
        lower = word.lower()
        if word == lower:
            continue
        start = token.start()
        if lower in hospitals:
            own, kind = hospitals[lower]
            end = start + len(own)
            if text[start:end].lower() == own and not text[end : end + 1].isalnum():
                yield start, end, kind, HOSPITAL
        if lower in names and lower not in small:
            low = max(0, start - 6)
            initials = _INITIALS.search(text[low:start])
            yield low + initials.start() if initials else start, token.end(), names[lower], NAME


def _months(text: str, hits: Sequence[Hit]) -> dict[bool, set[int]]:
    """The months of the note's full dates and those beside them, for dates that begin with the month (True) or the day."""
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
