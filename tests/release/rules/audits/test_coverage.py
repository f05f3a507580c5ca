"""A simulation: the bounds hold in at least 95% of releases, with imperfect auditors and sequential stopping."""

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from annotations.release.rules.audits.looks import AuditCounts, AuditState, Bounds, Design, judge
from annotations.release.rules.audits.sampling import SamplingUnit, draw, is_simple

LEAK_PATTERNS = 25  # releases with different leaks and auditors for each drawn sample
CONFIDENCE = 0.95


@dataclass(frozen=True)
class World:
    """Released notes by stratum, the sizes of patients (empty: no patient IDs), and what the audit aims at."""

    strata: Mapping[str, int]
    patients: tuple[int, ...]
    target: float
    planted: float
    leaks: int


WORLDS = [
    World({"": 1200}, (), 0.02, 0.0, 0), World({"": 1200}, (), 0.03, 0.15, 2), World({"": 300}, (), 0.05, 0.2, 1),
    World({"": 1500}, (1, 2, 9), 0.03, 0.15, 1), World({"": 900}, (40, 3, 1), 0.05, 0.2, 2),
    World({"a": 900, "b": 300, "c": 60}, (), 0.04, 0.0, 2), World({"a": 1000, "b": 100}, (1, 4, 12), 0.05, 0.2, 1),
    World({"a": 150, "b": 60, "c": 15}, (1, 2, 3), 0.06, 0.2, 2),
]  # fmt: skip


def units_of(world: World) -> list[SamplingUnit]:
    units: list[SamplingUnit] = []
    source = random.Random(1)
    for stratum, size in world.strata.items():
        left, patient = size, 0
        while left:
            notes = min(left, source.choice(world.patients)) if world.patients else 1
            name = f"{stratum}-{patient}" if world.patients else ""
            units += [SamplingUnit(len(units) + at, stratum, name) for at in range(notes)]
            left, patient = left - notes, patient + 1
    return units


class Simulated:
    """The reading of one release: whether each note of the sample, in order, was found to leak; planted leaks."""

    def __init__(self, strata: list[str], leaks: np.ndarray, planted: np.ndarray, found: np.ndarray) -> None:
        self._strata, self._planted, self._found = strata, planted, found
        self._leaks = np.flatnonzero(leaks)

    @property
    def read(self) -> int:
        return len(self._strata)

    def leak_at(self, number: int) -> int | None:
        return int(self._leaks[number - 1]) + 1 if len(self._leaks) >= number else None

    def found(self, read: int) -> AuditCounts:
        return AuditCounts(
            _counted(tuple(self._strata), read),
            Counter(self._strata[at] for at in self._leaks if at < read),
            int(self._planted[:read].sum()), int(self._found[:read].sum()),
        )  # fmt: skip


@cache
def _counted(strata: tuple[str, ...], read: int) -> Counter[str]:
    return Counter(strata[:read])


class Cached(Design):
    """A design that computes the same bounds only once."""

    def bounds(self, found: AuditCounts, look: int) -> Bounds:
        key = (look, tuple(found.read.items()), tuple(sorted(found.leaks.items())), found.planted, found.planted_found)
        known: dict[object, Bounds] = self.__dict__.setdefault("known", {})
        if key not in known:
            known[key] = super().bounds(found, look)
        return known[key]


def leaky(chance: np.random.Generator, units: list[SamplingUnit], clusters: np.ndarray, share: float) -> np.ndarray:
    """Which notes leak: notes at random, all notes of some patients, or the notes of one stratum only."""
    kind = chance.integers(3)
    if kind == 0:
        return chance.random(len(units)) < share
    if kind == 1:
        return (chance.random(clusters.max() + 1) < share)[clusters] & (chance.random(len(units)) < 0.8)
    strata = np.array([unit.stratum for unit in units])
    chosen = chance.choice(np.unique(strata))
    return (strata == chosen) & (chance.random(len(units)) < min(0.9, share * len(units) / (strata == chosen).sum()))


@pytest.mark.parametrize("releases", [800, pytest.param(10_000, marks=pytest.mark.nightly)])
def test_the_bounds_hold_in_95_percent_of_releases(releases: int) -> None:
    chance = np.random.default_rng(18)
    held: Counter[int] = Counter()
    states: Counter[AuditState] = Counter()
    each = releases // len(WORLDS)
    for number, world in enumerate(WORLDS):
        units = units_of(world)
        place = {name: at for at, name in enumerate(dict.fromkeys(unit.cluster or str(unit.pk) for unit in units))}
        clusters = np.array([place[unit.cluster or str(unit.pk)] for unit in units])
        simple = {name: is_simple([unit for unit in units if unit.stratum == name], 30) for name in world.strata}
        design = Cached(world.strata, simple, CONFIDENCE, world.target, world.planted, world.leaks)
        for drawing in range(-(-each // LEAK_PATTERNS)):
            sample = draw(f"{number}-{drawing}", units, design.looks)
            order = np.array([one.pk for one in sample])
            strata = [one.stratum for one in sample]
            # The order is random, so planting in every n-th note is as good as planting at random.
            nth = round(1 / world.planted) if world.planted else len(order) + 1
            planted = np.arange(1, len(order) + 1) % nth == 0
            for _release in range(min(LEAK_PATTERNS, each - drawing * LEAK_PATTERNS)):
                share = world.target * chance.uniform(0, 1.6)
                leaks = leaky(chance, units, clusters, share)
                recalls = chance.uniform(0.7, 1.0, size=3) if world.planted else np.ones(3)
                recall = recalls[chance.integers(3, size=len(order))]
                found = leaks[order] & (chance.random(len(order)) < recall)
                planted_found = planted & (chance.random(len(order)) < recall)
                verdict = judge(design, design.looks, Simulated(strata, found, planted, planted_found))
                states[verdict.state] += 1
                held[number] += verdict.bounds is None or leaks.mean() <= verdict.bounds.overall
    assert sum(held.values()) >= 0.95 * releases
    assert min(held.values()) >= (0.95 - 3 * (0.95 * 0.05 / each) ** 0.5) * each, held
    # The simulation is about both ends: the target met, and not to be met any more.
    assert states[AuditState.MET] > 0.15 * releases and states[AuditState.UNMET] > 0.2 * releases
