"""The scripts behind `make setup` on machines that lack something: what is called, and the one line that names it."""

import os
import re
import shutil
import signal
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.ops.conftest import wait_for

pytestmark = pytest.mark.product

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ("sh", "env", "mktemp", "tail", "rm", "cat", "touch", "mkdir")


@pytest.fixture
def bare(tmp_path):
    """A PATH with almost nothing on it; `bare.add(name, script)` puts a stand-in there."""

    class Bare:
        folder = tmp_path / "bin"
        calls = tmp_path / "calls"

        def add(self, name, script):
            file = self.folder / name
            file.write_text(f"#!/bin/sh\n{script}\n")
            file.chmod(0o755)
            return file

        def run(self, *command, **environ):
            return subprocess.run(
                command,
                cwd=ROOT,
                env={"PATH": str(self.folder), "CALLS": str(self.calls), "TMPDIR": str(tmp_path), **environ},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                check=False,
            )

    bare = Bare()
    bare.folder.mkdir()
    for tool in TOOLS:
        (bare.folder / tool).symlink_to(shutil.which(tool))
    bare.add("id", "echo 1000")
    return bare


def log_apt(bare, status=0):
    bare.add("apt-get", f'echo "$DEBIAN_FRONTEND $*" >>"$CALLS"; case "$*" in *install*) exit {status};; esac')


def test_root_installs_without_questions(bare):
    bare.add("id", "echo 0")
    log_apt(bare)
    done = bare.run(".ci/apt-install", "chromium", "nodejs")

    assert (done.returncode, done.stdout) == (0, "Installing chromium nodejs (apt)\n")
    calls = bare.calls.read_text().splitlines()
    assert all(call.startswith("noninteractive ") for call in calls)
    assert calls[-1].endswith("install -y --no-install-recommends chromium nodejs")


def test_others_install_by_sudo_without_a_password(bare):
    bare.add("sudo", 'shift; exec "$@"')
    bare.add("true", "exit 0")
    log_apt(bare)

    assert bare.run(".ci/apt-install", "nodejs").returncode == 0
    assert "install -y" in bare.calls.read_text()


def test_without_the_right_to_install_the_packages_are_named(bare):
    bare.add("sudo", "exit 1")
    log_apt(bare)
    done = bare.run(".ci/apt-install", "chromium", "nodejs")

    assert done.returncode == 1
    assert done.stderr == (
        "These packages are needed and only root can install them. On Debian: apt-get install chromium nodejs\n"
    )
    assert not bare.calls.exists()


def test_an_apt_that_fails_is_said(bare):
    bare.add("id", "echo 0")
    log_apt(bare, status=100)
    done = bare.run(".ci/apt-install", "chromium")

    assert done.returncode == 1
    assert done.stderr.endswith("apt could not install what is needed. On Debian: apt-get install chromium\n")


def test_where_nothing_is_missing_nothing_is_called(bare):
    for name in ("chromium", "node", "initdb", "nginx", "openssl"):
        bare.add(name, "exit 0")
    done = bare.run(".ci/dev-packages")

    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_only_what_is_missing_is_asked_for(bare):
    for name in ("initdb", "nginx"):
        bare.add(name, "exit 0")
    bare.add("node", "exit 1")  # too old
    done = bare.run(".ci/dev-packages")

    assert done.returncode == 1
    assert done.stderr.endswith("On Debian: apt-get install chromium-headless-shell nodejs openssl\n")


def test_a_python_without_venv_names_the_package(bare, tmp_path):
    python = bare.add("python-bare", 'case "$2" in *ensurepip*) exit 1;; esac')
    done = bare.run(".ci/make-venv", str(tmp_path / "venv"), PYTHON=str(python))

    assert done.returncode == 1
    assert done.stderr == (
        "These packages are needed and there is no apt-get here. On Debian: apt-get install python3-venv\n"
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


def test_the_locks_hold_versions_and_no_addresses():
    for name in ("requirements.lock", "requirements-dev.lock", "requirements-models.lock"):
        lines = [line for line in (ROOT / name).read_text().splitlines() if not line.startswith("#")]
        assert all(line.count("==") == 1 and "/" not in line and "@" not in line for line in lines), name
    assert "torch==2.13.0" in (ROOT / "requirements-models.lock").read_text().splitlines()
    assert "torch" not in (ROOT / "requirements.lock").read_text()


def test_the_scripts_are_executable():
    assert all(os.access(file, os.X_OK) for file in (ROOT / ".ci").iterdir())


def test_the_locks_cover_what_pyproject_asks_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = {"requirements.lock": project["dependencies"]} | {
        f"requirements-{extra}.lock": project["optional-dependencies"][extra] for extra in ("dev", "models")
    }
    locked: set[str] = set()
    for name, needs in wanted.items():  # each lists what it adds to those before it
        locked |= {bare_name(line) for line in (ROOT / name).read_text().splitlines()}
        assert {bare_name(need) for need in needs} <= locked, f"{name}: run `make lock`"


def bare_name(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement)[0].lower().replace("_", "-")


# ── Killed in the middle ─────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def checkout(tmp_path):
    """`make` where nothing has to be fetched: our Makefile and scripts, and a package of the test's own to install."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    shutil.copy(ROOT / "Makefile", folder)
    shutil.copytree(ROOT / ".ci", folder / ".ci")
    (folder / "requirements.lock").write_text("")
    return folder


def make(folder, **options):
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "VIRTUAL_ENV"))}
    return subprocess.Popen(
        ["make", "setup"], cwd=folder, env=environ, start_new_session=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options,
    )  # fmt: skip


def kill_when(making, there):
    wait_for(there.exists, 60, str(there))
    os.killpg(making.pid, signal.SIGKILL)
    making.wait()


def makes_it_whole(folder):
    done = make(folder)
    words, _ = done.communicate(timeout=120)
    assert done.returncode == 0, words
    whole = [str(folder / ".venv/bin/python"), "-c", "import pip; from pip._internal.cli import main"]
    assert subprocess.run(whole, check=False).returncode == 0
    assert {file.name for file in (folder / ".venv/stamps").iterdir()} == {"venv", "base"}


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
    python.write_text("#!/bin/sh\nsleep 100\n")
    python.chmod(0o755)
    (stamps / "base").unlink()
    kill_when(make(checkout), stamps / "installing")
    assert not (stamps / "venv").exists()
    makes_it_whole(checkout)


@pytest.mark.processes
def test_what_cannot_be_installed_leaves_the_environment(checkout):
    makes_it_whole(checkout)
    (checkout / "requirements.lock").write_text("./nothing-here\n")
    made = (checkout / ".venv/stamps/venv").stat().st_mtime
    done = make(checkout)
    done.communicate(timeout=120)
    assert done.returncode != 0
    assert (checkout / ".venv/stamps/venv").stat().st_mtime == made
    (checkout / "requirements.lock").write_text("")
    makes_it_whole(checkout)


@pytest.mark.processes
def test_two_at_once(checkout):
    both = [make(checkout), make(checkout)]
    for one in both:
        words, _ = one.communicate(timeout=120)
        assert one.returncode == 0, words
    makes_it_whole(checkout)
