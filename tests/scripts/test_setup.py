"""`make setup` creates the virtual environment, also after an earlier setup was killed."""

import os
import shutil
import signal
import subprocess
import sys

import pytest

from annotations.domain.installation import CODE
from tests.waiting import HANGS, wait_for

pytestmark = pytest.mark.product


def test_a_python_without_venv_names_the_package(bare, tmp_path):
    python = bare.add("python-bare", 'case "$2" in *ensurepip*) exit 1;; esac')
    done = bare.run(".ci/make-venv", str(tmp_path / "venv"), PYTHON=str(python))

    assert done.returncode == 1
    assert done.stderr == (
        "Some packages are missing, and there is no apt-get here. On Debian: apt-get install python3-venv\n"
    )
    assert not (tmp_path / "venv").exists()


def test_a_virtual_environment_that_works_is_left_alone(bare, tmp_path):
    python = tmp_path / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\nexit 0\n")
    python.chmod(0o755)
    (tmp_path / "venv" / "stamps").mkdir()
    (tmp_path / "venv" / "stamps" / "venv").touch()

    assert bare.run(".ci/make-venv", str(tmp_path / "venv")).returncode == 0
    assert python.read_text() == "#!/bin/sh\nexit 0\n"


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
def test_killed_while_the_environment_is_made(checkout):
    kill_when(make(checkout), checkout / ".venv/bin/python")
    makes_it_whole(checkout)


@pytest.mark.processes
def test_killed_while_packages_are_installed(checkout):
    makes_it_whole(checkout)
    stamps = checkout / ".venv/stamps"
    python = checkout / ".venv/bin/python"
    python.unlink()
    python.write_text(f"#!/bin/sh\nexec sleep {HANGS:.0f}\n")
    python.chmod(0o755)
    (stamps / "base").unlink()
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
    assert done.returncode != 0
    assert (checkout / ".venv/stamps/venv").stat().st_mtime == made
    (checkout / "requirements.lock").write_text("")
    makes_it_whole(checkout)


@pytest.mark.nightly
@pytest.mark.processes
def test_two_at_once(checkout):
    """The second setup waits, finds the finished environment, and does not create it again."""
    log, slow = checkout / "log", checkout / "slow-python"
    slow.write_text(
        f'#!/bin/sh\n[ "$2" = venv ] || exec {sys.executable} "$@"\n'
        f'echo begin >>{log}; {sys.executable} "$@"; sleep 1; echo end >>{log}\n'
    )
    slow.chmod(0o755)
    both = [make(checkout, PYTHON=str(slow)), make(checkout, PYTHON=str(slow))]
    for one in both:
        words, _ = one.communicate(timeout=HANGS)
        assert one.returncode == 0, words
    assert log.read_text().split() == ["begin", "end"]
    makes_it_whole(checkout)
