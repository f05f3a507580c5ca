"""Waiting depends on progress and on the load of the machine, not only on the clock."""

import itertools
import subprocess
import sys

import pytest

from tests import waiting
from tests.waiting import crowding, ended, in_browser, wait_for


@pytest.fixture
def clock(monkeypatch):
    """A clock that only sleeping moves; `clock.slow` is how long one sleep takes."""

    class Clock:
        now = 0.0
        slow = waiting.STEP

        def sleep(self, _seconds):
            self.now += self.slow

    clock = Clock()
    monkeypatch.setattr(waiting.time, "monotonic", lambda: clock.now)
    monkeypatch.setattr(waiting.time, "sleep", clock.sleep)
    monkeypatch.setattr(waiting, "crowding", lambda: 1.0)
    return clock


def test_an_existing_result_is_returned_at_once(clock):
    assert wait_for(lambda: "here") == "here"
    assert clock.now == 0


def test_it_gives_up_if_nothing_happens(clock):
    with pytest.raises(AssertionError, match="Waited for the job, but nothing happened for 30 s"):
        wait_for(lambda: None, what="the job")
    assert 30 <= clock.now < 31


def test_with_progress_it_waits_without_a_limit(clock):
    count = itertools.count()
    wait_for(lambda: clock.now > 500, progress=lambda: next(count) // 100)
    assert clock.now > 500


def test_it_gives_up_after_progress_has_stopped(clock):
    with pytest.raises(AssertionError):
        wait_for(lambda: None, progress=lambda: min(clock.now // 10, 20))
    assert 230 <= clock.now < 232


def test_it_waits_longer_on_a_crowded_machine(clock, monkeypatch):
    monkeypatch.setattr(waiting, "crowding", lambda: 7.5)
    with pytest.raises(AssertionError):
        wait_for(lambda: None)
    assert 225 <= clock.now < 226


def test_crowding_is_at_least_one():
    assert crowding() >= 1
    assert in_browser(30) >= 60_000


def test_it_waits_for_a_process():
    assert ended(subprocess.Popen([sys.executable, "-c", "raise SystemExit(3)"])) == 3
