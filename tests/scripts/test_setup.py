"""`make setup` creates the virtual environment, also after an earlier setup was killed."""

import importlib.metadata
import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from itertools import combinations

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from annotations.installation import CODE
from tests.waiting import HANGS, wait_for

pytestmark = pytest.mark.product
TOOLS = ("sh", "env", "mktemp", "tail", "rm", "cat", "touch", "mkdir")


def executable(file, does):
    file.write_text(f"#!/bin/sh\n{does}\n")
    file.chmod(0o755)
    return file


def stand_in(venv, does):
    """A virtual environment that looks finished, with a Python that does nothing else."""
    (venv / "bin").mkdir(parents=True)
    (venv / "stamps").mkdir()
    (venv / "stamps" / "venv").touch()
    return executable(venv / "bin" / "python", does)


@pytest.fixture
def make_venv(tmp_path):
    """`make_venv(python)`: run `.ci/make-venv` with only TOOLS and this Python."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for tool in TOOLS:
        (folder / tool).symlink_to(shutil.which(tool))
    executable(folder / "id", "echo 1000")

    def run(python):
        env = {"PATH": str(folder), "TMPDIR": str(tmp_path), "PYTHON": str(python)}
        words = [".ci/make-venv", str(tmp_path / "venv")]
        return subprocess.run(words, cwd=CODE, env=env, capture_output=True, text=True, check=False)

    return run


def test_a_python_without_venv_names_the_package(make_venv, tmp_path):
    done = make_venv(executable(tmp_path / "bin" / "python-bare", 'case "$2" in *ensurepip*) exit 1;; esac'))
    assert done.returncode == 1 and done.stderr.endswith("apt-get install python3-venv\n")
    assert not (tmp_path / "venv").exists()


def test_a_virtual_environment_that_works_is_left_alone(make_venv, tmp_path):
    python = stand_in(tmp_path / "venv", "exit 0")
    assert make_venv("").returncode == 0 and python.read_text() == "#!/bin/sh\nexit 0\n"


def test_the_scripts_are_executable():
    assert all(os.access(file, os.X_OK) for file in (CODE / ".ci").iterdir() if file.suffix != ".json")


@pytest.fixture
def checkout(tmp_path):
    """A folder with the Makefile and the scripts, and an empty lock file, so that nothing is downloaded."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    shutil.copy(CODE / "Makefile", folder)
    shutil.copytree(CODE / ".ci", folder / ".ci")
    (folder / "requirements.lock").write_text("")
    return folder


def make(folder, **more):
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "VIRTUAL_ENV"))} | more
    return subprocess.Popen(
        ["make", "setup"], cwd=folder, env=environ, start_new_session=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def kill_when(making, there):
    wait_for(there.exists, 60, str(there))
    os.killpg(making.pid, signal.SIGKILL)
    making.wait()


def makes_it_whole(folder):
    done = make(folder)
    words, _ = done.communicate(timeout=HANGS)
    assert done.returncode == 0, words
    whole = [str(folder / ".venv/bin/python"), "-c", "import pip; from pip._internal.cli import main"]
    assert subprocess.run(whole, check=False).returncode == 0
    assert {file.name for file in (folder / ".venv/stamps").iterdir()} == {"venv", "base"}


@pytest.mark.nightly
@pytest.mark.processes
def test_killed_while_packages_are_installed(checkout):
    stamps = checkout / ".venv/stamps"
    stand_in(checkout / ".venv", f'[ "$1" = -c ] || exec sleep {HANGS:.0f}')
    kill_when(make(checkout), stamps / "installing")
    assert not (stamps / "venv").exists()
    makes_it_whole(checkout)


@pytest.mark.nightly
@pytest.mark.processes
def test_what_cannot_be_installed_leaves_the_environment(checkout):
    makes_it_whole(checkout)
    (checkout / "requirements.lock").write_text("./nothing-here\n")
    made = (checkout / ".venv/stamps/venv").stat().st_mtime
    done = make(checkout)
    done.communicate(timeout=HANGS)
    assert done.returncode != 0 and (checkout / ".venv/stamps/venv").stat().st_mtime == made
    (checkout / "requirements.lock").write_text("")
    makes_it_whole(checkout)


@pytest.mark.nightly
@pytest.mark.processes
def test_two_at_once(checkout):
    """The second setup waits, finds the finished environment, and does not create it again."""
    log = checkout / "log"
    slow = executable(
        checkout / "slow-python",
        f'[ "$2" = venv ] || exec {sys.executable} "$@"\n'
        f'echo begin >>{log}; {sys.executable} "$@"; sleep 1; echo end >>{log}',
    )
    both = [make(checkout, PYTHON=str(slow)), make(checkout, PYTHON=str(slow))]
    for one in both:
        words, _ = one.communicate(timeout=HANGS)
        assert one.returncode == 0, words
    assert log.read_text().split() == ["begin", "end"]
    makes_it_whole(checkout)


# ── The lock files of the Python packages ──


PROJECT = tomllib.loads((CODE / "pyproject.toml").read_text())["project"]
LOCKS = ("requirements.lock", "requirements-dev.lock", "requirements-audio.lock", "requirements-models.lock")


def test_the_locks_hold_versions_with_hashes_and_no_addresses():
    for name in LOCKS:
        entries = re.split(r"\n(?=\w)", re.sub(r"^#.*\n", "", (CODE / name).read_text(), flags=re.MULTILINE).strip())
        for entry in entries:
            pin, *hashes = entry.replace("\\", "").split()
            assert re.fullmatch(r"[\w.-]+==[\w.]+", pin), pin
            assert hashes and all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", each) for each in hashes), pin


def test_torch_is_in_no_lock_since_builds_differ():
    """A build for a special machine, for example without CUDA, has another hash than the build on PyPI."""
    for name in LOCKS:
        assert not re.search(r"^(torch|triton|nvidia|cuda)[\w-]*==", (CODE / name).read_text(), re.MULTILINE), name
    assert "torch==2.13.0" in PROJECT["optional-dependencies"]["models"]


def test_the_locks_cover_what_pyproject_asks_for():
    extras = PROJECT["optional-dependencies"]
    extras = {f"requirements-{extra}.lock": extras[extra] for extra in ("dev", "audio", "models")}
    wanted = {"requirements.lock": PROJECT["dependencies"]} | extras
    base = pins("requirements.lock")
    for name, needs in wanted.items():
        locked = base | pins(name)
        # A package with its dependencies, as they are installed here: each lock can be installed without the others.
        waiting, seen = [need for need in needs if bare_name(need) != "torch"], set()
        while waiting:
            need = bare_name(waiting.pop())
            if need in seen:
                continue
            seen.add(need)
            assert need in locked, f"{name} lacks {need}: run `make lock`"
            for further in importlib.metadata.requires(need) or []:
                requirement = Requirement(further)
                if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                    waiting.append(requirement.name)


def pins(name: str) -> dict[str, str]:
    pins = re.findall(r"^([\w.-]+)==(\S+)", (CODE / name).read_text(), re.MULTILINE)
    return {canonicalize_name(package): version for package, version in pins}


def test_a_package_in_two_locks_has_one_version():
    """Else one installation would replace what the other installed."""
    locks = [pins(name) for name in LOCKS[1:]]
    for one, other in combinations(locks, 2):
        assert all(one[name] == other[name] for name in one.keys() & other.keys())


def bare_name(requirement: str) -> str:
    return canonicalize_name(re.split(r"[^\w.-]", requirement)[0])
