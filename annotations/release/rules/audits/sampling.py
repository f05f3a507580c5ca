"""Drawing notes for an audit: strata, patients as clusters, the same chance for every note of a stratum.

Notes of one patient resemble each other: one overlooked name may be in all of them. So a patient's notes are a cluster,
and the sample takes at most one note of a cluster. Clusters are drawn with a chance proportional to their number of
notes, by the pivotal method in random order (Deville and Tillé 1998), and then one note of the cluster at random, so
that every note has the same chance. A cluster that would be drawn for certain is cut into smaller ones at random. The
pivotal method is strongly Rayleigh (Brändén and Jonasson 2012), as are the choice of one note and the random prefix of
the sample; annotations.release.rules.audits.looks says what follows. If all clusters are single notes, the sample is a
simple random one.
"""

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# At least so many notes of every stratum are drawn, or all of them.
LEAST = 10


@dataclass(frozen=True, slots=True)
class SamplingUnit:
    """A note that may be drawn. `cluster` is its patient; a note without a patient is a cluster of its own."""

    pk: int
    stratum: str
    cluster: str


@dataclass(frozen=True, slots=True)
class DrawnNote:
    """A note of the sample, `look` being the number of the look (from 0) for which it is read."""

    pk: int
    stratum: str
    look: int


def allocation(base: int, strata: Mapping[str, int]) -> dict[str, int]:
    """How many notes to draw of each stratum (notes by name): proportional to its notes, at least LEAST or all.

    Shares are rounded up, so that every note has at least the chance base / notes. The sum may be more than `base`.
    """
    notes = sum(strata.values())
    return {
        name: min(size, max(-(-base * size // notes), LEAST if len(strata) > 1 else 0)) for name, size in strata.items()
    }


def draw(seed: str, units: Sequence[SamplingUnit], looks: Sequence[Mapping[str, int]]) -> list[DrawnNote]:
    """The sample in the order in which it is read: the notes of the first look, of the second and so on.

    `looks` are numbers of notes by stratum until the end of each look, never decreasing. The draw depends on the seed
    and on the order of the units alone.
    """
    rng = random.Random(seed)  # noqa: S311  # anybody who has the seed must be able to repeat the draw
    by_stratum: dict[str, list[SamplingUnit]] = defaultdict(list)
    for unit in units:
        by_stratum[unit.stratum].append(unit)
    parts: list[list[DrawnNote]] = [[] for _look in looks]
    for stratum in sorted(by_stratum):
        members = by_stratum[stratum]
        chosen = _chosen(rng, clusters_of(rng, members, looks[-1][stratum]), looks[-1][stratum])
        begin = 0
        for number, look in enumerate(looks):
            parts[number] += [DrawnNote(pk, stratum, number) for pk in chosen[begin : look[stratum]]]
            begin = look[stratum]
    for part in parts:
        rng.shuffle(part)
    return [one for part in parts for one in part]


def largest_cluster(notes: int, drawn: int) -> int:
    """The number of notes that a cluster may have, so that its chance to be drawn is at most 1."""
    return max(1, notes // drawn) if drawn else notes


def clusters_of(rng: random.Random, units: Sequence[SamplingUnit], drawn: int) -> list[list[int]]:
    """The units' ids by cluster, large clusters cut at random."""
    grouped: dict[str, list[int]] = defaultdict(list)
    single: list[list[int]] = []
    for unit in units:
        if unit.cluster:
            grouped[unit.cluster].append(unit.pk)
        else:
            single.append([unit.pk])
    most = largest_cluster(len(units), drawn)
    for members in grouped.values():
        rng.shuffle(members)
        single += [members[at : at + most] for at in range(0, len(members), most)]
    return single


def is_simple(units: Sequence[SamplingUnit], drawn: int) -> bool:
    """Whether the sample of `drawn` of these units, which are of one stratum, is a simple random sample of notes."""
    named = [unit.cluster for unit in units if unit.cluster]
    return largest_cluster(len(units), drawn) == 1 or len(set(named)) == len(named)


def _chosen(rng: random.Random, clusters: list[list[int]], drawn: int) -> list[int]:
    """One note of each of `drawn` clusters in random order, by the pivotal method.

    Chances are whole numbers out of the number of notes, so that they add up exactly.
    """
    notes = sum(map(len, clusters))
    rng.shuffle(clusters)
    taken: list[list[int]] = []
    held, chance = [], 0
    for cluster in clusters:
        other = drawn * len(cluster)
        if other >= notes:
            taken.append(cluster)
            continue
        total = chance + other
        if total < notes:
            if rng.randrange(total) < other:
                held = cluster
            chance = total
        elif rng.randrange(2 * notes - total) < notes - other:
            taken.append(held)
            held, chance = cluster, total - notes
        else:
            taken.append(cluster)
            chance = total - notes
    rng.shuffle(taken)
    return [rng.choice(cluster) for cluster in taken]
