"""Numbers of entities for placeholders such as "[NAME 1]": equal entities of a note have the same number."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Final

from annotations.release.rules.redaction.kinds import IdentifierType
from annotations.release.rules.redaction.released import Mention
from annotations.text.search import folded, words
from annotations.text.spans import Bounds

_PEOPLE: Final = frozenset({IdentifierType.NAME, IdentifierType.STAFF})
# Titles don't tell people apart. They are compared after folding.
_TITLES_LIST: Final = (
    "dr dra doctor doctora dott dottor dottore dottssa dottoressa ssa prof profesor profesora professor "
    "profa professore professoressa mr mrs ms miss sr sra srta don dona dna sig signor signora signorina md phd d da"
)
TITLES: Final = frozenset(_TITLES_LIST.split())


def numbered(mentions: Iterable[Mention]) -> dict[Bounds, int]:
    """The number of each mention's entity among those with its label, from 1, by the bounds of the mention.

    Mentions of a label are one entity if their folded texts are equal. People are also one entity if one name is part
    of a longer one: "Wilson", "A. Wilson" and "Dr. Adam Wilson" have the same number. A name that is part of several
    longer ones gets the number of the first of them. Numbers follow the order of the note.
    """
    by_label: dict[str, list[Mention]] = defaultdict(list)
    for mention in sorted(mentions, key=lambda each: (each.start, each.end)):
        by_label[mention.label].append(mention)
    return {
        (mention.start, mention.end): number
        for same in by_label.values()
        for mention, number in zip(same, _numbers(same), strict=True)
    }


def _numbers(mentions: list[Mention]) -> list[int]:
    names = [_name(mention) for mention in mentions]
    owners = _owners(dict.fromkeys(name for mention, name in zip(mentions, names, strict=True)
                                   if mention.kind in _PEOPLE))  # fmt: skip
    numbers: dict[tuple[str, ...], int] = {}
    return [numbers.setdefault(owners.get(name, name), len(numbers) + 1) for name in names]


def _owners(names: Iterable[tuple[str, ...]]) -> dict[tuple[str, ...], tuple[str, ...]]:
    """For each name, the longest name that it is a part of: the first of them in the order of the note."""
    order = list(names)
    owners: dict[tuple[str, ...], tuple[str, ...]] = {}
    longer: list[tuple[str, ...]] = []
    for name in sorted(order, key=lambda each: -len(each)):  # stable: names of equal length stay in the note's order
        owner = next((whole for whole in longer if _is_part(name, whole)), name)
        owners[name] = owner
        if owner is name:
            longer.append(name)
    return owners


def _is_part(name: tuple[str, ...], whole: tuple[str, ...]) -> bool:
    """Whether all words of a name are in the longer name. An initial may stand for a word, but not for all of them."""
    left = list(whole)
    full = 0
    for word in sorted(name, key=len, reverse=True):
        found = next((each for each in left if each == word or (len(word) == 1 and each[0] == word)), None)
        if found is None:
            return False
        left.remove(found)
        full += len(word) > 1
    return full > 0


def _name(mention: Mention) -> tuple[str, ...]:
    """The words of the mention, for people without titles; of other mentions the folded text without extra space."""
    if mention.kind not in _PEOPLE:
        return tuple(folded(mention.text).split())
    found = words(mention.text)
    return tuple(word for word in found if word not in TITLES) or found
