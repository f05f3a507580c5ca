"""The lock files of the Python packages."""

import importlib.metadata
import re
import tomllib
from itertools import combinations

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from annotations.installation import CODE

pytestmark = pytest.mark.product

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
