"""Tests wait for progress, and give up by the load of the machine, not after a fixed time."""

import ast
from pathlib import Path

import pytest

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
