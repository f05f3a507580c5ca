"""`make setup` creates the virtual environment, also after an earlier setup was killed."""

import os
import shutil
import signal
import subprocess
import sys

import pytest

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
