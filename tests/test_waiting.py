"""Waiting depends on progress and on the load of the machine, not only on the clock."""

import ast
import itertools
import subprocess
import sys
from pathlib import Path

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


# ── All tests keep to it ─────────────────────────────────────────────────────────────────────────────────────────────
# These give up after some seconds of the clock. `wait_for` and `ended` count slower on a busy machine.
GIVE_UP = {"wait", "join", "result", "acquire", "settimeout", "set_default_timeout", "set_default_navigation_timeout"}
COUNT_SLOWER = {"wait_for", "ended", "wait_for_state"}


def is_number(node):
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def fixed_limits(source):
    """Return the lines in which a number is the time limit of a call, or the entry `timeout` of a dict."""
    lines = set()
    for node in ast.walk(ast.parse(source)):
        found = []
        if isinstance(node, ast.Call):
            if not (isinstance(node.func, ast.Name) and node.func.id in COUNT_SLOWER):
                found += [word.value for word in node.keywords if word.arg == "timeout"]
            if isinstance(node.func, ast.Attribute) and node.func.attr in GIVE_UP:
                found += node.args[:1]
        elif isinstance(node, ast.Dict):
            found += [
                value
                for key, value in zip(node.keys, node.values, strict=True)
                if isinstance(key, ast.Constant) and key.value == "timeout"
            ]
        lines |= {each.lineno for each in found if is_number(each)}
    return sorted(lines)


@pytest.mark.nightly
def test_no_test_gives_up_after_a_fixed_time():
    """Use `wait_for`, `ended`, `in_browser` or HANGS, and MOMENT for checks that nothing happens."""
    here = Path(__file__).parent
    found = [
        f"{file.relative_to(here)}:{line}" for file in here.rglob("*.py") for line in fixed_limits(file.read_text())
    ]
    assert found == []


@pytest.mark.parametrize(
    ("line", "fixed"),
    [
        ("subprocess.run(command, timeout=60)", True),
        ("thread.join(30)", True),
        ("event.wait(timeout=1.5)", True),
        ("page.set_default_timeout(15_000)", True),
        ("expect(page).to_have_text('x', timeout=500)", True),
        ("{'host': host, 'timeout': 60}", True),
        ("condition.wait_for(done, timeout=0.1)", True),
        ("thread.join()", False),
        ("thread.join(HANGS)", False),
        ("wait_for(done, timeout=90)", False),
        ("expect(page).to_have_text('x', timeout=in_browser(60))", False),
        ("{'timeout': '180'}", False),
    ],
)
def test_a_fixed_time_is_found(line, fixed):
    assert fixed_limits(line) == ([1] if fixed else [])
