"""Choose the mutants of `mutants.json`: small wrong changes of the product, drawn by a seed from six groups of code.

`python -m tests.mutants.choose > tests/mutants/mutants.json`. A mutant replaces one line. It names the function around
the line, so that it is found again when code above it has moved. The operators are those of DeMillo, Lipton and Sayward
1978 and of common tools: a comparison or a logical operator is changed, a condition is dropped, a function returns a
constant, a number is one too large.
"""

import ast
import json
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.mutants.lines import CODE, Mutant

SEED = 37
# The mutants of each group, and the files from which they are drawn.
GROUPS = {
    "services": (
        30,
        ["annotations/*/services/**/*.py", "annotations/*/services.py", "models_runtime/*/services/**/*.py"],
    ),
    "selectors": (
        18,
        ["annotations/*/selectors/**/*.py", "annotations/*/selectors.py", "models_runtime/*/selectors/**/*.py"],
    ),
    "rules": (
        22,
        [
            "annotations/text/**/*.py",
            "annotations/formats/**/*.py",
            "annotations/*/rules/**/*.py",
            "models_runtime/backends/**/*.py",
        ],
    ),
    "access": (
        6,
        ["annotations/core/access.py", "annotations/core/api/requests.py", "annotations/core/suggestions.py"],
    ),
    "sign-in": (4, ["annotations/projects/**/*.py", "deidreview/*.py"]),
    "browser": (20, ["static/js/**/*.js"]),
}
SWAPPED = {
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="), ast.GtE: (">=", ">"), ast.In: ("in", "not in"), ast.NotIn: ("not in", "in"),
    ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is"), ast.Add: ("+", "-"), ast.Sub: ("-", "+"),
    ast.And: ("and", "or"), ast.Or: ("or", "and"),
}  # fmt: skip
# In JavaScript an operator stands between spaces, and a statement in its line.
SCRIPT = [
    (r" === ", " !== ", "operator"), (r" !== ", " === ", "operator"), (r" && ", " || ", "operator"),
    (r" \|\| ", " && ", "operator"), (r" < ", " <= ", "operator"), (r" >= ", " > ", "operator"),
    (r" \+ ", " - ", "operator"), (r"if \((?!true\))[^()]*(\([^()]*\)[^()]*)*\)", "if (true)", "condition"),
    (r"return (?!null;)[^;{(]+;", "return null;", "constant"),
]  # fmt: skip


def main() -> None:
    chance = random.Random(SEED)
    chosen: list[Mutant] = []
    for group, (count, patterns) in GROUPS.items():
        files = sorted({path for pattern in patterns for path in CODE.glob(pattern)})
        drawn: list[Mutant] = []
        found = [mutant for path in files if "vendor" not in path.parts for mutant in candidates(path, group)]
        for mutant in chance.sample(found, len(found)):
            # One mutant for a file, so that the list covers much code; of the few files about access, two.
            same = sum(mutant.file == other.file for other in drawn)
            if len(drawn) < count and same < (2 if group == "access" else 1):
                drawn.append(mutant)
        chosen += drawn
    rows = [mutant.as_json() | {"number": number} for number, mutant in enumerate(chosen, start=1)]
    json.dump(rows, sys.stdout, indent=1, ensure_ascii=False)
    print()


def candidates(path: Path, group: str) -> list[Mutant]:
    """Return every mutant of a file, in the order of its lines."""
    source = path.read_text()
    lines, name = source.splitlines(), str(path.relative_to(CODE))
    found = _of_script(lines) if path.suffix == ".js" else _of_python(source, lines)
    return [
        Mutant(0, group, operator, name, number, lines[number - 1].strip(), after.strip(), inside, [])
        for number, after, operator, inside in found
    ]


def _of_script(lines: list[str]) -> Iterator[tuple[int, str, str, str]]:
    comment = False
    for number, line in enumerate(lines, start=1):
        comment = comment or line.strip().startswith("/*")
        if not comment and not line.strip().startswith("//"):
            for pattern, after, operator in SCRIPT:
                for match in re.finditer(pattern, line):
                    yield number, line[: match.start()] + after + line[match.end() :], operator, ""
        comment = comment and "*/" not in line


def _of_python(source: str, lines: list[str]) -> Iterator[tuple[int, str, str, str]]:
    tree = ast.parse(source)
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for statement in function.body:
                for node in ast.walk(statement):
                    for number, after, operator in _of_node(node, source, lines):
                        yield number, after, operator, function.name


def _of_node(node: ast.AST, source: str, lines: list[str]) -> Iterator[tuple[int, str, str]]:
    if getattr(node, "lineno", 0) != getattr(node, "end_lineno", -1):
        return
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        yield from _between(node.left, node.ops[0], node.comparators[0], lines)
    elif isinstance(node, ast.BinOp):
        yield from _between(node.left, node.op, node.right, lines)
    elif isinstance(node, ast.BoolOp):
        yield from _between(node.values[0], node.op, node.values[1], lines)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield _replaced(node, _text(node.operand, source), lines, "condition")
    elif isinstance(node, ast.Return) and node.value and not isinstance(node.value, ast.Constant):
        yield _replaced(node, "return None", lines, "constant")
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        yield _replaced(node, str(node.value + 1), lines, "number")
    tests = (
        node.ifs if isinstance(node, ast.comprehension) else [node.test] if isinstance(node, ast.If | ast.IfExp) else []
    )
    for test in tests:
        if test.lineno == test.end_lineno:
            yield _replaced(test, "True", lines, "condition")
            yield _replaced(test, "False", lines, "condition")


def _between(left: ast.expr, operator: ast.AST, right: ast.expr, lines: list[str]) -> Iterator[tuple[int, str, str]]:
    if type(operator) not in SWAPPED or left.end_lineno != right.lineno:
        return
    before, after = SWAPPED[type(operator)]
    line = lines[right.lineno - 1].encode()
    start, end = left.end_col_offset or 0, right.col_offset
    middle = line[start:end].decode().replace(before, after, 1)
    yield right.lineno, line[:start].decode() + middle + line[end:].decode(), "operator"


def _replaced(node: ast.expr | ast.stmt, after: str, lines: list[str], operator: str) -> tuple[int, str, str]:
    line = lines[node.lineno - 1].encode()
    return node.lineno, line[: node.col_offset].decode() + after + line[node.end_col_offset :].decode(), operator


def _text(node: ast.expr, source: str) -> str:
    return ast.get_source_segment(source, node) or ""


if __name__ == "__main__":
    main()
