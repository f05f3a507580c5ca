"""Search the whole note for what a strong rule found once, as whole words.

Names are searched word by word, hospitals by the distinctive part of their name, and days by the months of full dates.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import Final

from models_runtime.backends.rules.checks import real_date
from models_runtime.backends.rules.clinical import is_clinical_word
from models_runtime.backends.rules.dates import FULL, PART, could_be_part
from models_runtime.backends.rules.engine import TOKEN, Scan
from models_runtime.backends.rules.gazetteers import alternatives, listed, places, word_set
from models_runtime.backends.rules.kinds import NAMES, RuleKind
from models_runtime.backends.rules.lower_words import EVERYDAY, ORDINARY, SPEECH, prose
from models_runtime.backends.rules.phrases import LETTER, UP, words_of
from models_runtime.backends.rules.rule import Hit, Rule, nothing
from models_runtime.backends.rules.states import ALL_GIVEN

NAME: Final = Rule("name.memory", frozenset(), nothing, 0.85, rank=20)
HOSPITAL: Final = Rule("org.memory", frozenset(), nothing, 0.85, rank=20)
DATE: Final = Rule("date.memory", frozenset(), nothing, 0.85, rank=20)
RULES: Final = (NAME, HOSPITAL, DATE)

_JOIN: Final = re.compile(r"[ ](?:(?:de|del|della|di|la|las|los|y)[ ]){0,3}")
_INITIALS: Final = re.compile(rf"(?<![A-Za-z])(?:[{UP}]\.[ ]?){{1,2}}\Z")
_LETTERS: Final = re.compile(rf"{LETTER}+")
_TITLED: Final = re.compile(r"(?<!\w)(?:mrs?|ms|miss|dra?|sra?|srta|sig(?:\.ra)?|dott(?:\.ssa)?|prof)(?:\.[ ]?|[ ])\Z")
_OPENS: Final = re.compile(r"(?:\A|[.;:!?\n][ ]?)\Z")
_ACTS: Final = re.compile(
    rf"['’]s[ ]|[ ](?:{alternatives(verb.replace('_', ' ') for w in SPEECH for verb in (*w.does, *w.has))})(?!{LETTER})"
)
_MOST_HOSPITALS: Final = 40


def remember(text: str, scanned: Scan, hits: Sequence[Hit]) -> list[Hit]:
    """Further hits that the resolved `hits` make likely. None of them overlaps a hit or a trap."""
    names = _names(text, hits)
    small = list(_in_small_letters(text, names))
    repeated = (*_repeated(text, scanned.capitals, names, _hospitals(text, hits)), *small)
    taken = bytearray(len(text))
    for hit in (*hits, *(hit for hit in scanned.hits if hit.kind is RuleKind.TRAP)):
        taken[hit.start : hit.end] = b"\1" * (hit.end - hit.start)
    free = [found for found in repeated if taken.find(1, found[0], found[1]) < 0]
    as_names = {start for start, _, _, _ in small}
    everyday = _everyday(text, {text[start:end].lower() for start, end, _, rule in free if rule is NAME}, as_names)
    found: list[Hit] = []
    for start, end, kind, rule in (*free, *_days(text, _months(text, hits))):
        if taken.find(1, start, end) >= 0 or (
            rule is NAME and start not in as_names and text[start:end].lower() in everyday
        ):
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


def _everyday(text: str, names: set[str], as_names: set[int]) -> set[str]:
    """The names that the note also writes in lower case, except at `as_names`: these are everyday words."""
    return {t[0] for t in TOKEN.finditer(text) if t[0] in names and t.start() not in as_names} if names else set()


def _in_small_letters(text: str, names: dict[str, RuleKind]) -> Iterator[tuple[int, int, RuleKind, Rule]]:
    """The names in small letters: beside each other, after a title, and where they are no other words."""
    found = sorted((at, at + len(name)) for name in names for at in _occurrences(text, name))
    for index, (start, end) in enumerate(found):
        word = text[start:end]
        beside = any(
            _JOIN.fullmatch(text, left[1], right[0]) for left, right in pairwise(found[max(0, index - 1) :][:3])
        )
        acts = _opens(text, start) and _ACTS.match(text, end) and not is_clinical_word(word)
        sure = word not in _ordinary() and (word in ALL_GIVEN or acts)
        if beside or sure or _TITLED.search(text, max(0, start - 16), start):
            yield start, end, names[word], NAME


def _opens(text: str, start: int) -> bool:
    return _OPENS.search(text, max(0, start - 2), start) is not None


def _occurrences(text: str, name: str) -> Iterator[int]:
    """Where the name stands as a whole word."""
    at = text.find(name)
    while at >= 0:
        beside = text[at - 1 : at] + text[at + len(name) : at + len(name) + 1]
        if not any(letter.isalnum() or letter in "@_-/" for letter in beside):
            yield at
        at = text.find(name, at + len(name))


@cache
def _ordinary() -> frozenset[str]:
    """Names that are other words too."""
    return prose().union(
        ORDINARY, EVERYDAY, word_set("eponyms"), word_set("drugs"), places(), listed("common_surnames", "aids")
    )


def _names(text: str, hits: Sequence[Hit]) -> dict[str, RuleKind]:
    """The words of the names that strong rules found, lower-cased, with their kinds."""
    known: dict[str, RuleKind] = {}
    for hit in hits:
        if hit.kind in NAMES and hit.rule.strong:
            for word in words_of(text[hit.start : hit.end]):
                if word.lower() not in word_set("not_names"):
                    known.setdefault(word.lower(), hit.kind)
    return known


def _hospitals(text: str, hits: Sequence[Hit]) -> dict[str, tuple[str, RuleKind]]:
    """The distinctive parts of hospital names ("virgen de la vega") by their first word, without names of towns."""
    found: dict[str, tuple[str, RuleKind]] = {}
    for hit in hits:
        if hit.kind not in (RuleKind.HOSPITAL, RuleKind.CARE_CENTER) or not hit.rule.strong:
            continue
        for word in _LETTERS.finditer(text, hit.start, hit.end):
            if word[0].lower() not in listed("general_care"):
                own = text[word.start() : hit.end].strip('"”» ').lower()
                if " " in own and own not in places() and len(found) < _MOST_HOSPITALS:
                    found.setdefault(word[0].lower(), (own, hit.kind))
                break
    return found


def _repeated(
    text: str,
    capitals: Iterable[tuple[str, int, int]],
    names: dict[str, RuleKind],
    hospitals: dict[str, tuple[str, RuleKind]],
) -> Iterator[tuple[int, int, RuleKind, Rule]]:
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


def _days(text: str, months: dict[bool, set[int]]) -> Iterator[tuple[int, int, RuleKind, Rule]]:
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
                yield match.start(), match.end(), RuleKind.DATE, DATE
