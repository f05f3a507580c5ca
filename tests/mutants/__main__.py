"""Check that the tests still catch a hundred wrong lines, and record which tests do.

    python -m tests.mutants              run the killers of each mutant; fail if one survives
    python -m tests.mutants 3 17         only these mutants
    python -m tests.mutants --record     choose killers anew, by coverage, for mutants without one (or those named)

Each mutant is tried in one of two copies of the project, with the one line changed. A mutant is killed if a test fails,
or if the tests hang. Killers that no longer exist are reported: name their successors with `--record`.
"""

import argparse
import ast
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from coverage import CoverageData

from tests import affected

CODE = Path(__file__).parents[2]
LIST = Path(__file__).with_name("mutants.json")


@dataclass(frozen=True)
class Mutant:
    """One wrong line. `before` and `after` are lines without their indentation; `inside` is the function's name."""

    number: int
    group: str
    operator: str
    file: str
    line: int
    before: str
    after: str
    inside: str
    # Tests that fail on the mutant, as pytest or the name of a JavaScript file names them.
    killers: list[str]
    # Why no test can fail, if the mutant does the same as the product.
    equivalent: str = ""

    def as_json(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "equivalent" or value}

    def position(self, folder: Path = CODE) -> int:
        """Return the number of the line today: the nearest equal line in the function of that name.

        Raises LookupError if the line no longer exists.
        """
        source = (folder / self.file).read_text()
        equal = [number for number, line in enumerate(source.splitlines(), start=1) if line.strip() == self.before]
        if self.inside:
            ranges = [
                range(node.lineno, (node.end_lineno or node.lineno) + 1)
                for node in ast.walk(ast.parse(source))
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == self.inside
            ]
            equal = [number for number in equal if any(number in lines for lines in ranges)]
        if not equal:
            raise LookupError(f"Mutant {self.number}: {self.file} no longer has the line: {self.before}")
        return min(equal, key=lambda number: abs(number - self.line))

    def mutate(self, folder: Path) -> str:
        """Change the line in the copy of the project at `folder`. Return the file's text before."""
        path = folder / self.file
        source = path.read_text()
        lines = source.splitlines(keepends=True)
        index = self.position(folder) - 1
        lines[index] = lines[index].replace(self.before, self.after)
        path.write_text("".join(lines))
        return source


def read() -> list[Mutant]:
    """Return the mutants of `mutants.json`."""
    return [Mutant(**row) for row in json.loads(LIST.read_text())]


COPIES = 2
# Seconds after which a run of killers hangs.
HANGS = 600
# Tests that are tried on a mutant without killers, and killers that are kept.
TRIED, KEPT = 40, 4
COVERAGE = (
    "[run]\ndynamic_context = test_function\nconcurrency = thread,greenlet\ndata_file = {data}\ninclude =\n{files}\n"
)
# Folders of scripts that several screens load.
SHARED_SCRIPTS = {
    "editor": ["review", "annotate", "adjudicate"], "text": ["annotate", "review"], "core": ["core", "projects"],
}  # fmt: skip
NODE = ["node", "--test", "--test-reporter=dot"]
PYTEST = [sys.executable, "-m", "pytest", "-q", "--tb=no"]
# Exit statuses of pytest: no test failed; a test was not found; no test was run.
PASSED, UNKNOWN, NO_TESTS = 0, 4, 5


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__.partition("\n")[0])
    parser.add_argument("numbers", nargs="*", type=int, metavar="NUMBER", help="mutants to try; all if none is named")
    parser.add_argument("--record", action="store_true", help="choose killers by coverage")
    chosen = parser.parse_args(words)
    mutants = {mutant.number: mutant for mutant in read()}
    numbers = chosen.numbers or [
        number for number, mutant in mutants.items() if not mutant.equivalent and bool(mutant.killers) != chosen.record
    ]
    with tempfile.TemporaryDirectory(prefix="deidreview-mutants-") as folder, ThreadPoolExecutor(COPIES) as pool:
        copies: SimpleQueue[Path] = SimpleQueue()
        for at in range(COPIES):
            copies.put(_copy(Path(folder, str(at))))
        if chosen.record:
            reaching = _reaching([mutants[number] for number in numbers], Path(folder))
            for mutant in pool.map(lambda number: _record(mutants[number], reaching[number], copies), numbers):
                print(f"{mutant.number:4} {mutant.file}: {', '.join(mutant.killers) or 'no test fails'}", flush=True)
                mutants[mutant.number] = mutant
            rows = [mutant.as_json() for mutant in mutants.values()]
            LIST.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")
            return 0
        lines = list(pool.map(lambda number: _check(mutants[number], copies), numbers))
    print(*filter(None, lines), f"{lines.count('')} of {len(numbers)} mutants are killed", sep="\n")
    return 1 if any(lines) else 0


def _copy(folder: Path) -> Path:
    """Copy the files of the project, with changes that are not committed."""
    listed = subprocess.check_output(["git", "ls-files", "-co", "--exclude-standard"], cwd=CODE, text=True)
    for name in filter(lambda name: (CODE / name).is_file(), listed.splitlines()):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(CODE / name, folder / name)
    return folder


@contextmanager
def _mutated(mutant: Mutant, copies: "SimpleQueue[Path]") -> Iterator[Path]:
    folder = copies.get()
    source = mutant.mutate(folder)
    try:
        yield folder
    finally:
        (folder / mutant.file).write_text(source)
        copies.put(folder)


def _check(mutant: Mutant, copies: "SimpleQueue[Path]") -> str:
    """Return what is wrong with the killers of a mutant, or nothing if they kill it."""
    try:
        with _mutated(mutant, copies) as folder:
            status, output = _run(mutant.killers, folder)
    except LookupError as error:
        return f"{error.args[0]}. Write its line of today into {LIST.name}."
    if status in (UNKNOWN, NO_TESTS):
        return f"Mutant {mutant.number}: a killer is gone. Name its successor. {output.strip().splitlines()[-1:]}"
    return f"Mutant {mutant.number} of {mutant.file} survives: {mutant.after}" if status == PASSED else ""


def _record(mutant: Mutant, tests: list[str], copies: "SimpleQueue[Path]") -> Mutant:
    """Return the mutant with the first tests that fail on it, of those that reach its line."""
    with _mutated(mutant, copies) as folder:
        status, output = _run(tests[:TRIED], folder, "-rfE") if tests else (PASSED, "")
        if status == PASSED and mutant.file.endswith(".js"):
            _, output = _run(_in_browser(mutant.file), folder, "-rfE", "-x")
    failed = re.findall(r"^(?:FAILED|ERROR) (\S+?)(?:\[| - |$)", output, re.MULTILINE)
    failed += [name for name in tests if name.endswith(".mjs") and name in output]
    return replace(mutant, killers=list(dict.fromkeys(failed))[:KEPT])


def _run(tests: Sequence[str], folder: Path, *options: str) -> tuple[int, str]:
    """Run tests in a copy. Return the exit status and the output. Tests of the browser code are files for Node."""
    output, status = "", PASSED
    scripts = [name for name in tests if name.endswith(".mjs")]
    commands = [[*NODE, name] for name in scripts]
    if others := [name for name in tests if name not in scripts]:
        commands.append([*PYTEST, *(options or ["-x"]), *others])
    for command in commands:
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=HANGS, check=False)
        except subprocess.TimeoutExpired:
            return 1, output + "".join(f"\nFAILED {name}" for name in others[:1])
        if done.returncode:
            status, output = done.returncode, f"{output}\n{command[-1]}\n{done.stdout[-20_000:]}{done.stderr[-2000:]}"
    return status, output


def _reaching(mutants: list[Mutant], folder: Path) -> dict[int, list[str]]:
    """Return the tests that run the line of each mutant, those of its feature first.

    Tests in other processes and in the browser are not measured: for lines that only they reach, the tests that can see
    a change of the file are returned.
    """
    data, settings = folder / "coverage", folder / "coveragerc"
    files = "\n".join(f"    {CODE / mutant.file}" for mutant in mutants if mutant.file.endswith(".py"))
    settings.write_text(COVERAGE.format(data=data, files=files))
    if files:
        covered = [sys.executable, "-m", "coverage", "run", f"--rcfile={settings}", "-m", "pytest", "-q", "--tb=no"]
        subprocess.run([*covered, "-m", "not browser and not processes"], cwd=CODE, check=False)
    measured = CoverageData(str(data))
    measured.read()
    found: dict[int, list[str]] = {}
    for mutant in mutants:
        if mutant.file.endswith(".js"):
            found[mutant.number] = sorted(
                str(path.relative_to(CODE)) for path in (CODE / "tests/js").rglob("*.test.mjs")
            )
            continue
        contexts = measured.contexts_by_lineno(str(CODE / mutant.file)).get(mutant.position(), [])
        tests = [_test_of(context) for context in contexts if context]
        feature = Path(mutant.file).parts[1]
        found[mutant.number] = sorted(filter(None, tests), key=lambda name: (feature not in name, name))
        if not found[mutant.number]:
            found[mutant.number] = [name for name in affected.affected_by([mutant.file]) if feature in name]
    return found


def _in_browser(script: str) -> list[str]:
    """Return the browser tests of the screens that load a script."""
    feature = Path(script).parts[2]
    screens = SHARED_SCRIPTS.get(feature, [feature])
    return [name for screen in screens if (CODE / (name := f"tests/browser/{screen}")).is_dir()]


def _test_of(context: str) -> str:
    """Return the test of a context of coverage, such as tests.gold.test_making.test_freeze, as pytest names it."""
    parts = context.split(".")
    for end in range(len(parts) - 1, 0, -1):
        path = Path(*parts[:end]).with_suffix(".py")
        if (CODE / path).is_file():
            return "::".join([path.as_posix(), *parts[end:]]) if path.name.startswith("test_") else ""
    return ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
