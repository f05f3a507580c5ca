"""A name that strong evidence found once is a name everywhere in the note, whole words only."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from models_runtime.backends.rules.engine import TOKEN
from models_runtime.backends.rules.gazetteers import word_set
from models_runtime.backends.rules.kinds import NAMES, Kind
from models_runtime.backends.rules.reading import words_of
from models_runtime.backends.rules.rule import Hit, Rule

RULE: Final = Rule("name.memory", frozenset(), lambda text, start, end: (), 0.85, rank=20)
_JOIN: Final = re.compile(r"[ ](?:(?:de|del|della|di|la|las|los|y)[ ]){0,3}")


def remember(text: str, hits: Sequence[Hit], trapped: Iterable[tuple[int, int]]) -> list[Hit]:
    """More hits for the names among `hits`: each word of a name, written with a capital as there or all in capitals.

    A word that the note also writes small is a word of every day and isn't looked for.
    """
    known: dict[str, Kind] = {}
    for hit in hits:
        if hit.kind in NAMES and hit.rule.strong:
            for word in words_of(text[hit.start : hit.end]):
                if word.lower() not in word_set("not_names"):
                    known.setdefault(word.lower(), hit.kind)
    if not known:
        return []
    small: set[str] = set()
    places: list[tuple[int, int, str]] = []
    for token in TOKEN.finditer(text):
        word = token[0]
        lower = word.lower()
        if lower in known:
            if word == lower:
                small.add(lower)
            else:
                places.append((*token.span(), lower))
    taken = bytearray(len(text))
    for start, end in [(hit.start, hit.end) for hit in hits] + list(trapped):
        taken[start:end] = b"\1" * (end - start)
    found: list[Hit] = []
    for start, end, lower in places:
        if lower in small or taken.find(1, start, end) >= 0:
            continue
        last = found[-1] if found else None
        if last is not None and last.kind is known[lower] and _JOIN.fullmatch(text, last.end, start):
            found[-1] = Hit(last.start, end, last.kind, RULE)
        else:
            found.append(Hit(start, end, known[lower], RULE))
    return found
