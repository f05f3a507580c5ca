"""A process: its cores and threads, its collector of garbage, and bars on its terminal."""

import gc
import os
import pty
import subprocess
import sys
from contextlib import suppress

import pytest

from annotations.core.bulk import collector_paused
from annotations.threads import VARIABLES, cores, limit_threads, threads_for
from tests.waiting import HANGS
from tests.worlds.product import ROOT


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """`machine(8, {"a/b": "200000 100000"}, own="a/b/c")`: usable cores, limits of cgroups, and its own one."""

    def make(usable, limits=(), own="", before="1:cpu:/x\n"):
        monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(usable)))
        (tmp_path / "proc/self").mkdir(parents=True, exist_ok=True)
        (tmp_path / "proc/self/cgroup").write_text(f"{before}0::/{own}\n")
        for folder, limit in dict(limits).items():
            path = tmp_path / "sys/fs/cgroup" / folder
            path.mkdir(parents=True, exist_ok=True)
            (path / "cpu.max").write_text(limit)
        return tmp_path

    return make


def test_the_cores_are_those_of_the_affinity(machine, tmp_path, monkeypatch):
    assert cores(machine(6)) == 6
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {3})
    assert cores(tmp_path / "nothing here") == 1


LIMITS = [
    ({"": "max 100000"}, "", 8), ({"": "200000 100000"}, "", 2),
    ({"a": "max 100000", "a/b": "150000 100000"}, "a/b", 2), ({"a": "300000 100000", "a/b": "max 100000"}, "a/b", 3),
    ({"a": "50000 100000"}, "a", 1), ({"a": "1600000 100000"}, "a", 8), ({"a": "nonsense"}, "a", 8),
    ({"other": "100000 100000"}, "a", 8), ({"": "100000 100000"}, "../../x", 1),
]  # fmt: skip


@pytest.mark.parametrize(("limits", "own", "found"), LIMITS)
def test_limits_of_the_cgroups_around_a_process_count(machine, limits, own, found):
    assert cores(machine(8, limits, own)) == found


def test_workers_divide_the_cores(machine):
    root = machine(16)
    assert [threads_for(workers, root) for workers in (0, 1, 2, 3, 16, 40)] == [16, 16, 8, 5, 1, 1]
    # A number that a person has set is kept.
    environ = {"OMP_NUM_THREADS": "3"}
    limit_threads(environ, 2)
    assert environ == dict.fromkeys(VARIABLES, "2") | {"OMP_NUM_THREADS": "3"}


def test_the_collector_is_paused_until_the_end_of_the_outer_block():
    with collector_paused():
        with pytest.raises(ValueError), collector_paused():
            raise ValueError
        assert not gc.isenabled()
    assert gc.isenabled()


# ── Progress bars: on a terminal only, and never on standard output ──


CODE = """
import sys
import django
django.setup()
from annotations.core.commands import progress_bar
with progress_bar("Deciding") as show:
    for done in range(4):
        show(done, 3)
print("rich" in sys.modules)
"""


@pytest.mark.parametrize("on_a_terminal", [True, False])
def test_a_bar_appears_only_on_a_terminal(on_a_terminal):
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-c", CODE], cwd=ROOT, stdout=subprocess.PIPE,
        stderr=theirs if on_a_terminal else subprocess.PIPE, text=True, timeout=HANGS, check=True,
        env={**os.environ, "TERM": "xterm"},
    )  # fmt: skip
    os.close(theirs)
    shown = ""
    if on_a_terminal:
        # A read returns one block at most, and raises OSError at the end.
        with suppress(OSError):
            while block := os.read(ours, 65536):
                shown += block.decode(errors="replace")
        assert "Deciding" in shown and "3/3" in shown
    else:
        assert done.stderr == ""
    os.close(ours)
    assert done.stdout == f"{on_a_terminal}\n"
