"""Threads of libraries: the cores of a process, divided among the workers on them."""

import os

import pytest

from annotations.threads import VARIABLES, cores, limit_threads, threads_for


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
