"""The lock files of the Python packages."""

import re
import tomllib

import pytest

from deidreview.run.environment import ROOT

pytestmark = pytest.mark.product

LOCKS = ("requirements.lock", "requirements-dev.lock", "requirements-models.lock")


def test_the_locks_hold_versions_with_hashes_and_no_addresses():
    for name in LOCKS:
        entries = re.split(r"\n(?=\w)", re.sub(r"^#.*\n", "", (ROOT / name).read_text(), flags=re.MULTILINE).strip())
        for entry in entries:
            pin, *hashes = entry.replace("\\", "").split()
            assert re.fullmatch(r"[\w.-]+==[\w.]+", pin), pin
            assert hashes and all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", each) for each in hashes), pin


def test_torch_is_in_no_lock_since_builds_differ():
    """A build for a special machine, for example without CUDA, has another hash than the build on PyPI."""
    for name in LOCKS:
        assert not re.search(r"^(torch|triton|nvidia|cuda)[\w-]*==", (ROOT / name).read_text(), re.MULTILINE), name
    assert (
        "torch==2.13.0"
        in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["models"]
    )


def test_the_locks_cover_what_pyproject_asks_for():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = {"requirements.lock": project["dependencies"]} | {
        f"requirements-{extra}.lock": project["optional-dependencies"][extra] for extra in ("dev", "models")
    }
    locked: set[str] = set()
    for name, needs in wanted.items():  # each lock lists only what it adds to the previous ones
        locked |= {bare_name(line) for line in (ROOT / name).read_text().splitlines() if "==" in line}
        assert {bare_name(need) for need in needs} - {"torch"} <= locked, f"{name}: run `make lock`"


def bare_name(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement)[0].lower().replace("_", "-")
