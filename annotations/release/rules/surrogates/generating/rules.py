"""Make surrogates by rules: names, places, institutions, numbers and addresses in the style of what they replace."""

import random
from collections.abc import Container, Sequence
from typing import Final

from annotations.release.rules.redaction.kinds import Kind
from annotations.release.rules.surrogates.clustering import PEOPLE
from annotations.release.rules.surrogates.generating.people import new_person
from annotations.release.rules.surrogates.generating.places import new_template
from annotations.release.rules.surrogates.generating.values import new_value
from annotations.release.rules.surrogates.generating.words import Words
from annotations.release.rules.surrogates.pipeline import Around, Cluster, Surrogate
from annotations.release.rules.surrogates.writing import TEMPLATES

ORDER: Final = (
    Kind.NAME,
    Kind.STAFF,
    Kind.COUNTRY,
    Kind.REGION,
    Kind.CITY,
    Kind.LOCATION,
    Kind.ZIP,
    Kind.STREET,
    Kind.HOSPITAL,
    Kind.ORGANIZATION,
)
"""Kinds in the order in which surrogates must be made, so that later ones can agree with earlier ones."""
_RANK: Final = {kind: at for at, kind in enumerate(ORDER)}


def in_order(clusters: Sequence[Cluster]) -> list[Cluster]:
    """The clusters of a patient in the order in which their surrogates must be made."""
    return sorted(clusters, key=order)


def order(cluster: Cluster) -> tuple[int, bool]:
    """The sort key of `in_order`: people before places before all else, and cities before their ZIP codes."""
    return _RANK.get(cluster.kind, len(_RANK)), not any(letter.isalpha() for letter in cluster.forms[0])


class RuleGenerator:
    """Makes surrogates from lists and ranges. All chance comes from `source`, which the caller seeds.

    A word that the lists know is replaced by one of the lists with the same gender, about the same frequency, and an
    accent if it has one; a word that they don't know by a made-up one that they don't know either. So neither style nor
    the lists tell a surrogate from an original that was missed.
    """

    def __init__(self, source: random.Random) -> None:
        self._source = source

    def generate(self, cluster: Cluster, around: Around, avoid: Container[str], attempt: int) -> Surrogate:
        """A new surrogate. `avoid`: folded texts that it must not be or contain, with a fast `in`."""
        return Surrogate(cluster.kind, _parts(Words(self._source, cluster, around, avoid, attempt)))


def _parts(words: Words) -> dict[str, str]:
    kind = words.cluster.kind
    if kind in PEOPLE:
        return new_person(words)
    if kind in TEMPLATES:
        return new_template(words)
    text = words.cluster.forms[0]
    return {"value": words.unlike(text, lambda: new_value(words, kind, text))}
