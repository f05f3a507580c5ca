"""How many notes a plan needs, and when reading stops."""

from collections import Counter
from collections.abc import Collection

import pytest

from annotations.release.rules.audits.looks import AuditCounts, AuditState, Design, judge, reached

MANY = 10**8


def design(notes: int = MANY, *, target: float = 0.01, planted: float = 0.0, leaks: int = 0) -> Design:
    return Design({"": notes}, {"": True}, 0.95, target, planted, leaks)


class Read:
    """`read` notes in order, leaks at some positions, every tenth note planted, of which some are missed."""

    def __init__(self, read: int, leaks: Collection[int] = (), planted: bool = False, missed: Collection[int] = ()):
        self.read, self._leaks, self._planted, self._missed = read, sorted(leaks), planted, missed

    def found(self, read: int) -> AuditCounts:
        planted = list(range(10, read + 1, 10)) if self._planted else []
        return AuditCounts(
            Counter({"": read}), Counter({"": sum(at <= read for at in self._leaks)}), len(planted),
            sum(at not in self._missed for at in planted),
        )  # fmt: skip

    def leak_at(self, number: int) -> int | None:
        return self._leaks[number - 1] if len(self._leaks) >= number else None


def test_notes_to_read_without_a_leak() -> None:
    # A small release needs fewer; a single leaky note of a tiny one is drawn with 96%.
    for notes, target, most in (
        (MANY, 0.01, 299),
        (MANY, 0.05, 59),
        (MANY, 0.02, 149),
        (1000, 0.01, 238),
        (50, 0.001, 48),
    ):
        assert design(notes, target=target).looks == [{"": most}]
    # Planted leaks make the sample larger: auditors are expected to find nine of ten, and both bounds share the error.
    assert design(planted=0.1).looks == [{"": 426}]
    looks = [look[""] for look in design(leaks=2).looks]
    assert looks[0] < 330 and looks == sorted(set(looks))
    # A release can be too small to measure the auditors.
    assert design(14).reachable and design(1000, planted=0.1).reachable and not design(14, planted=0.1).reachable
    # A share of few notes is at least one planted leak.
    assert [design(1000, planted=0.1).planted_in(some) for some in (0, 1, 4, 14, 16)] == [0, 1, 1, 1, 2]
    assert design(1000).planted_in(4) == 0
    # The position of the last look
    looks = [{"a": 10, "b": 5}, {"a": 20, "b": 10}]
    assert [reached(looks, read) for read in (14, 15, 29, 30, 99)] == [0, 15, 15, 30, 30]


def test_reading_stops_as_soon_as_the_target_is_met() -> None:
    plan = design()
    before, met = (judge(plan, plan.looks, Read(read)) for read in (298, 299))
    assert (before.state, before.bounds) == (AuditState.OPEN, None)
    assert (met.state, met.read) == (AuditState.MET, 299) and met.bounds is not None
    assert (met.bounds.overall, met.bounds.recall) == (pytest.approx(0.00997, abs=1e-5), None)


def test_reading_stops_when_the_target_cannot_be_met_any_more() -> None:
    plan = design()
    verdict = judge(plan, plan.looks, Read(120, [101]))
    assert verdict.state == AuditState.UNMET and verdict.by_leak
    # The bound follows from the 100 notes before the leak.
    assert verdict.read == 100 and verdict.bounds is not None
    assert verdict.bounds.overall == pytest.approx(0.0295, abs=1e-4)


def test_with_further_looks_reading_goes_on_after_a_leak() -> None:
    plan = design(leaks=1)
    first, second = (look[""] for look in plan.looks)
    assert judge(plan, plan.looks, Read(first, [100])).state == AuditState.OPEN
    assert judge(plan, plan.looks, Read(second, [100])).state == AuditState.MET
    assert judge(plan, plan.looks, Read(second, [100, 200])).state == AuditState.UNMET
    # Without a leak, the first look is the last.
    assert judge(plan, plan.looks, Read(second)).read == first
    # A late second leak: the bound of the first look is better than what follows from the leak.
    late = judge(plan, plan.looks, Read(first + 1, [first - 1, first + 1]))
    assert late.state == AuditState.UNMET and late.bounds is not None and late.bounds.overall < 0.02


def test_missed_planted_leaks_keep_the_target_from_being_met() -> None:
    plan = design(planted=0.1)
    [[end]] = [list(look.values()) for look in plan.looks]
    assert judge(plan, plan.looks, Read(end, planted=True)).state == AuditState.MET
    missing = judge(plan, plan.looks, Read(end, planted=True, missed=range(0, end, 30)))
    assert missing.state == AuditState.UNMET and not missing.by_leak
    assert missing.bounds is not None and missing.bounds.recall == pytest.approx(0.47, abs=0.02)
    # Without a planted leak in the sample, nothing is known.
    verdict = judge(plan, plan.looks, Read(end))
    assert verdict.bounds is not None and verdict.bounds.overall == 1.0


def test_the_error_probability_is_spent_once() -> None:
    for leaks in (0, 1, 2):
        plan = design(planted=0.1, leaks=leaks)
        assert sum(sum(plan.alphas(look)) for look in range(leaks + 1)) == pytest.approx(0.05)


def test_each_stratum_has_a_bound_of_its_own() -> None:
    plan = Design({"a": 900, "b": 100}, {"a": True, "b": True}, 0.95, 0.05, 0.0)
    [look] = plan.looks
    bounds = plan.bounds(AuditCounts(look, {}), 0)
    assert bounds.overall <= 0.05
    assert bounds.strata["b"] > bounds.strata["a"] > 0.05
