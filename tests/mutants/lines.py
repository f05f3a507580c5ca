"""Mutants of single lines: reading the list, finding a line again, and changing a file."""

import ast
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

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
