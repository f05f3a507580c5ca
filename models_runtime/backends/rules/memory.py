"""What strong evidence found once counts everywhere in the note, whole words only: names, and hospitals by their own part."""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from models_runtime.backends.rules.engine import TOKEN
from models_runtime.backends.rules.gazetteers import places, word_set
from models_runtime.backends.rules.kinds import NAMES, Kind
from models_runtime.backends.rules.reading import LETTER, words_of
from models_runtime.backends.rules.rule import Hit, Rule

NAME: Final = Rule("name.memory", frozenset(), lambda text, start, end: (), 0.85, rank=20)
HOSPITAL: Final = Rule("org.memory", frozenset(), lambda text, start, end: (), 0.85, rank=20)
_JOIN: Final = re.compile(r"[ ](?:(?:de|del|della|di|la|las|los|y)[ ]){0,3}")
_LETTERS: Final = re.compile(rf"{LETTER}+")
_MOST_HOSPITALS: Final = 40


def remember(text: str, hits: Sequence[Hit], trapped: Iterable[tuple[int, int]]) -> list[Hit]:
    """More hits for the names and hospitals among `hits`, none of them overlapping a hit or a trap."""
    names, small = _names(text, hits)
    hospitals = _hospitals(text, hits)
    if not names and not hospitals:
        return []
    taken = bytearray(len(text))
    for start, end in [(hit.start, hit.end) for hit in hits] + list(trapped):
        taken[start:end] = b"\1" * (end - start)
    found: list[Hit] = []
    for start, end, kind, rule in _places(text, names, small, hospitals):
        if taken.find(1, start, end) >= 0:
            continue
        last = found[-1] if found else None
        if last is not None and rule is NAME and last.kind is kind and _JOIN.fullmatch(text, last.end, start):
            found[-1] = Hit(last.start, end, last.kind, NAME)
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
    general = word_set("general_care")
    for hit in hits:
        if hit.kind not in (Kind.HOSPITAL, Kind.CARE_CENTRE) or not hit.rule.strong:
            continue
        for word in _LETTERS.finditer(text, hit.start, hit.end):
            if word[0].lower() not in general:
                own = text[word.start() : hit.end].strip("\"”» ").lower()
                if " " in own and own not in places() and len(found) < _MOST_HOSPITALS:
                    found.setdefault(word[0].lower(), (own, hit.kind))
                break
    return found


def _places(
    text: str, names: dict[str, Kind], small: set[str], hospitals: dict[str, tuple[str, Kind]]
) -> Iterator[tuple[int, int, Kind, Rule]]:
    for token in TOKEN.finditer(text):
        if not token[0][:1].isupper():
            continue
        start, lower = token.start(), token[0].lower()
        if lower in hospitals:
            own, kind = hospitals[lower]
            end = start + len(own)
            if text[start:end].lower() == own and not text[end : end + 1].isalnum():
                yield start, end, kind, HOSPITAL
        if lower in names and lower not in small:
            yield start, token.end(), names[lower], NAME
