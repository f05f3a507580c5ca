"""Measures of surrogates (Singh et al. 2025, appendix A.7): what is kept, consistency, collisions, originals left."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from annotations.release.rules.redaction.policy import PEOPLE, IdentifierType
from annotations.release.rules.surrogates.clustering import read, surrogate_key
from annotations.release.rules.surrogates.folding import compact, folded
from annotations.release.rules.surrogates.pipeline import REPEATABLE, MentionInNote, Surrogate
from annotations.release.rules.surrogates.templates import field_of_work, slots
from annotations.release.rules.surrogates.writing import TEMPLATES
from annotations.text.wording import gettext_noop


@dataclass(frozen=True, slots=True)
class ReplacedMention:
    """A mention and what was written for it. `entity` tells entities apart; `language` is that of the note."""

    entity: int
    mention: MentionInNote
    new: str
    surrogate: Surrogate
    language: str


@dataclass(frozen=True, slots=True)
class Measures:
    """Shares from 0 to 1, None without mentions; counts of entities and mentions.

    `preserved`: mentions whose surrogate keeps kind, gender, title and format. `consistent`: entities with one
    surrogate in all notes. `collisions`: surrogates that more than one entity has. `originals_left`: mentions whose
    surrogate is the original, or contains it as whole words.
    """

    mentions: int
    entities: int
    preserved: float | None
    consistent: float | None
    collisions: int
    originals_left: int


MEASURE_NAMES: Final = {
    "entities": gettext_noop("Entities"),
    "mentions": gettext_noop("Mentions"),
    "preserved": gettext_noop("Mentions that keep their type and form"),
    "consistent": gettext_noop("Entities with one surrogate in all notes"),
    "collisions": gettext_noop("Surrogates that two entities share"),
    "originals_left": gettext_noop("Originals left"),
}


def measure(replaced: Iterable[ReplacedMention]) -> Measures:
    """The measures over all mentions of a release. Two people with one full name count as a collision.

    Kinds of few values (REPEATABLE), such as professions, have no collisions: their values name nobody.
    """
    rows = list(replaced)
    by_entity: dict[int, set[tuple[tuple[str, str], ...]]] = defaultdict(set)
    holders: dict[tuple[str, str], set[int]] = defaultdict(set)
    kept = left = 0
    last: dict[int, Surrogate] = {}
    for row in rows:
        if last.get(row.entity) is not row.surrogate:
            last[row.entity] = row.surrogate
            by_entity[row.entity].add(tuple(sorted(row.surrogate.parts.items())))
            kind = "person" if row.surrogate.kind in PEOPLE else str(row.surrogate.kind)
            if row.surrogate.kind not in REPEATABLE:
                holders[kind, surrogate_key(row.surrogate)].add(row.entity)
        kept += preserves(row)
        left += is_left(row)
    return Measures(
        mentions=len(rows),
        entities=len(by_entity),
        preserved=kept / len(rows) if rows else None,
        consistent=sum(len(found) == 1 for found in by_entity.values()) / len(by_entity) if by_entity else None,
        collisions=sum(len(found) > 1 for found in holders.values()),
        originals_left=left,
    )


def preserves(row: ReplacedMention) -> bool:
    """Whether the surrogate has the kind, gender, titles, case, punctuation and generic words of the original.

    An occupation is kept by another one of the same field.
    """
    mention, new = row.mention, row.new
    if row.surrogate.kind != mention.kind and not {row.surrogate.kind, mention.kind} <= PEOPLE:
        return False
    differs = mention.text.isupper() != new.isupper() or mention.text.islower() != new.islower()
    if differs and len(compact(mention.text)) > 1:
        return False
    if mention.kind in PEOPLE:
        name, gender = read(mention, row.language), row.surrogate.parts.get("gender", "")
        agrees = not (name.gender and gender) or name.gender == gender
        return agrees and _framed(mention.text, new, [(part.start, part.end) for part in name.parts])
    if mention.kind is IdentifierType.PROFESSION:
        field = field_of_work(mention.text, row.language)
        return field is not None and field == field_of_work(new, row.language)
    if mention.kind in TEMPLATES:
        found = slots(mention.text, mention.kind, row.language)
        return bool(found) and _framed(mention.text, new, [(slot.start, slot.end) for slot in found])
    if "@" in mention.text:
        return new.count("@") == mention.text.count("@")
    return True


def _framed(old: str, new: str, replaced: Sequence[tuple[int, int]]) -> bool:
    """Whether the new text has what stands around the replaced stretches of the old one, in order."""
    at = end = 0
    for start, stop in replaced:
        between = old[end:start]
        place = new.find(between, at)
        if place < 0:
            return False
        at, end = place + len(between), stop
    return new.endswith(old[end:])


def is_left(row: ReplacedMention) -> bool:
    """Whether the surrogate is the original, or contains it as whole words (folded)."""
    old, new = folded(row.mention.text), folded(row.new)
    return bool(old) and f" {old} " in f" {new} "
