"""The five steps of making surrogates (Singh et al. 2025, appendix A.6, algorithm 3).

Cluster the mentions of one entity, retrieve what the project's index knows of it, decide whether that fits, generate a
new surrogate if not, and store it. The offline default of clustering, deciding and generating is in this package; a
language model can take each one's place. The index, which retrieves and stores, is annotations.release.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final, NamedTuple

from annotations.release.rules.redaction.policy import DESCRIPTIONS, INSTITUTIONS, PLACES, IdentifierType

SHARED: Final = INSTITUTIONS | PLACES | {IdentifierType.STAFF}
"""Kinds whose entities are the same for all patients of a project. Entities of other kinds belong to one patient."""
REPEATABLE: Final = DESCRIPTIONS | {IdentifierType.AGE, IdentifierType.DATE, IdentifierType.OTHER}
"""Kinds of few values: two entities may have the same surrogate, and the values name nobody."""


class MentionInNote(NamedTuple):
    """A mention with its note: `start` and `end` are code points. `before` and `after` are up to 40 characters."""

    note: int
    start: int
    end: int
    kind: IdentifierType
    text: str
    before: str = ""
    after: str = ""


def longest_first(texts: Collection[str]) -> list[str]:
    """Texts without repetition in the order in which the forms of an entity are kept."""
    return sorted(texts, key=lambda text: (-len(text), text)) if len(texts) > 1 else list(texts)


@dataclass(frozen=True)
class Cluster:
    """All mentions of one entity by one patient's notes. `language` is that of most of the notes."""

    kind: IdentifierType
    language: str
    mentions: Sequence[MentionInNote]

    @cached_property
    def forms(self) -> list[str]:
        """The distinct texts, longest first."""
        return longest_first({mention.text for mention in self.mentions})


@dataclass(frozen=True, slots=True)
class Surrogate:
    """What replaces an entity: `parts` by name, such as given, family and gender of a person, or value of an id."""

    kind: IdentifierType
    parts: Mapping[str, str]
    made_by: str = "rules"


class IndexedEntity(NamedTuple):
    """An entity of the index: its known original forms and its surrogate. `own`: it occurs in this patient's notes."""

    pk: int
    kind: IdentifierType
    forms: Sequence[str]
    surrogate: Surrogate
    locked: bool = False
    own: bool = False


@dataclass(frozen=True, slots=True)
class Around:
    """What a new surrogate must agree with: the patient's other entities (a city for a street, a name for an e-mail).

    `related` holds surrogates of the patient that exist already, with the original forms that they replace. `days` is
    the patient's secret offset of dates, 0 if unknown: a code that contains a birth date follows it.
    """

    related: Sequence[IndexedEntity] = field(default_factory=tuple)
    days: int = 0
