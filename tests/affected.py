"""The test files that a change can break, from the imports of all files.

A test file sees a change of what it imports, directly or through other files, and of its folder's feature: tests of
pages reach views by addresses, and templates and styles by names. Features are matched by the names of folders.
"""

import ast
import re
import subprocess
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

from annotations.installation import CODE

IMPORT: Final = re.compile(r"^[ \t]*((?:from[ \t]+[.\w]+[ \t]+)?import[ \t]+(?:\([^)]*\)|[^\n]*))", re.MULTILINE)
PACKAGES: Final = ("annotations", "models_runtime", "deidreview", "fixtures", "tests")
# Folders whose children are features, named like the folders of tests.
FEATURES: Final = ("annotations", "models_runtime", "templates", "static/js", "static/css")
# Modules that join all features. The tests of a page see a change of a feature, not through these.
JOINTS: Final = ("deidreview/urls.py",)


def changed_since(commit: str) -> list[str]:
    """Return the paths that differ from a commit, with files that git does not know yet. Raises CalledProcessError."""
    names = _git("diff", "--name-only", commit) + _git("ls-files", "--others", "--exclude-standard")
    return sorted(set(names))


def affected_by(changed: Iterable[str]) -> list[str]:
    """Return the test files that can see a change of these files."""
    users = _users()
    seen, waiting = set(changed), deque(changed)
    while waiting:
        for user in users.get(waiting.popleft(), set()) - seen - set(JOINTS):
            seen.add(user)
            waiting.append(user)
    features = {feature for name in changed if (feature := _feature(name))}
    return sorted(
        file
        for file in _files()
        if Path(file).name.startswith("test_") and (file in seen or features & set(Path(file).parts[1:-1]))
    )


@cache
def _files() -> frozenset[str]:
    return frozenset(file.relative_to(CODE).as_posix() for name in PACKAGES for file in (CODE / name).rglob("*.py"))


@cache
def _users() -> dict[str, set[str]]:
    """Return the files that import each file."""
    users: dict[str, set[str]] = defaultdict(set)
    for file in _files():
        for used in _imports(file, _files()):
            users[used].add(file)
    return users


def _feature(name: str) -> str:
    """Return the feature to which a file of the product belongs, as its folder of tests is named, or nothing."""
    for folder in FEATURES:
        if name.startswith(f"{folder}/") and (rest := Path(name).relative_to(folder)):
            return rest.parts[0] if len(rest.parts) > 1 else rest.stem
    return ""


def _imports(file: str, files: frozenset[str]) -> Iterator[str]:
    """Yield the files that a file imports, with the packages around them."""
    for node in _statements((CODE / file).read_text()):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            start = list(Path(file).parts[: -node.level]) if node.level else []
            base = ".".join([*start, *([node.module] if node.module else [])])
            names = [f"{base}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            parts = name.split(".")
            for end in range(len(parts), 0, -1):
                path = "/".join(parts[:end])
                yield from {f"{path}.py", f"{path}/__init__.py"} & files


def _statements(code: str) -> Iterator[ast.AST]:
    """Yield the nodes of the imports. Parsing only these takes a tenth of the time; where that fails, all is parsed."""
    found = "\n".join(match[1] for match in IMPORT.finditer(code))
    try:
        yield from ast.parse(found).body
    except SyntaxError:
        yield from ast.walk(ast.parse(code))


def _git(*words: str) -> list[str]:
    return subprocess.check_output(["git", *words], cwd=CODE, text=True).splitlines()
