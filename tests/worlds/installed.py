"""deidreview installed from a wheel, in a virtual environment outside the checkout that borrows this one's packages."""

import http.client
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.waiting import HANGS, wait_for
from tests.worlds.product import ROOT, clean_environ

SOURCES = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE", "CHANGELOG.md")
FOLDERS = ("annotations", "deidreview", "models_runtime", "templates", "static", "fixtures", "docs")


class Installed:
    """A virtual environment with the wheel. `folder` is empty, for data and for working in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "venv" / "bin"

    def environ(self, data: Path, **more: str) -> dict[str, str]:
        clean = {name: value for name, value in clean_environ(data).items() if name != "PYTHONPATH"}
        return {**clean, "PATH": f"{self.bin}:{clean['PATH']}", **more}

    def run(self, *words: str, environ: dict[str, str]) -> subprocess.CompletedProcess[str]:
        """Run a program of the environment outside the checkout."""
        return subprocess.run(
            words, cwd=self.folder, env=environ, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=HANGS, check=False,
        )  # fmt: skip


class Served:
    """A process that the test starts and ends, outside the checkout."""

    def __init__(self, words: list[str], environ: dict[str, str], folder: Path) -> None:
        self.process = subprocess.Popen(
            words, cwd=folder, env=environ, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True,
        )  # fmt: skip

    def get(self, port: int, path: str, **headers: str) -> tuple[int, str]:
        """Ask until the process listens. Return status and body."""

        def answer() -> tuple[int, str] | None:
            assert self.process.poll() is None, self.process.communicate()[0]
            with suppress(OSError, http.client.HTTPException):
                line = http.client.HTTPConnection("127.0.0.1", port, timeout=HANGS)
                line.request("GET", path, headers=headers)
                found = line.getresponse()
                return found.status, found.read().decode()
            return None

        return wait_for(answer, 60, "an answer")

    def wait_until_it_heeds_sigterm(self) -> None:
        """Wait until the process has a handler for SIGTERM. Relays and workers say nothing when they have started."""

        def heeds() -> bool:
            assert self.process.poll() is None, self.process.communicate()[0]
            status = Path(f"/proc/{self.process.pid}/status").read_text()
            caught = int(next(line for line in status.splitlines() if line.startswith("SigCgt")).split()[1], 16)
            return bool(caught >> (signal.SIGTERM - 1) & 1)

        wait_for(heeds, 60, "the handler for SIGTERM")

    def end(self) -> str:
        """End the process with SIGTERM. Return its output."""
        if self.process.poll() is None:
            self.process.terminate()
        return self.process.communicate(timeout=HANGS)[0]


def _tool(path: Path, *words: str | Path) -> None:
    path.write_text(f'#!/bin/sh\nexec {" ".join(map(str, words))} "$@"\n')
    path.chmod(0o755)


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installed]:
    """Build the wheel from a copy, so that the checkout stays clean, and install it as `pip install FILE` does."""
    folder = tmp_path_factory.mktemp("installed")
    source = folder / "source"
    source.mkdir()
    for name in SOURCES:
        shutil.copy(ROOT / name, source)
    for name in FOLDERS:
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    offline = {**os.environ, "PIP_NO_INDEX": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    pip = [sys.executable, "-m", "pip"]
    build = [*pip, "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(source)]
    subprocess.run(build, check=True, env=offline, capture_output=True)
    found = Installed(folder)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], check=True)
    [wheel] = folder.glob("deidreview-*.whl")
    python = str(found.bin / "python")
    subprocess.run(
        [*pip, "--python", python, "install", "--quiet", "--no-deps", "--no-compile", str(wheel)],
        check=True, env=offline, capture_output=True,
    )  # fmt: skip
    packages = sysconfig.get_paths(vars={"base": str(folder / "venv"), "platbase": str(folder / "venv")})["purelib"]
    Path(packages, "borrowed.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    _tool(found.bin / "gunicorn", python, "-m", "gunicorn")
    shutil.rmtree(source)
    yield found
    shutil.rmtree(folder, ignore_errors=True)
