#!/usr/bin/env python3
"""`python .ci/size.py [--write | --reason WHY]`: fail if the project has grown above the values in .ci/size.json.

Files that git ignores aren't counted. A code line has something besides comments and docstrings. Data are the .csv,
.json, .jsonl, .toml, .tsv and .txt files of the product and of fixtures. `--write` lowers the values to the figures of
today; `--reason` also raises them and keeps the reason in the file.
"""

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PRODUCT = ("annotations/", "deidreview/", "models_runtime/")
DATA = (".csv", ".json", ".jsonl", ".toml", ".tsv", ".txt")
LONG = 160
TOKEN = re.compile(r"""#[^\n]*|(?P<quote>\"{3}|'{3}|"|')(?:\\.|(?!(?P=quote)).)*(?P=quote)""", re.DOTALL)
# After `masked`: a string alone on its lines, at the beginning of a file or of a block.
DOCSTRING = re.compile(r"(?:\A|:[ \t]*\n)\s*\x01(?:\n\x02)*[ \t]*$", re.MULTILINE)


def masked(token: re.Match[str]) -> str:
    """Return nothing for a comment; for a string \x01, and \x02 for each further line of it."""
    return "" if token[0].startswith("#") else "\x01" + "\n\x02" * token[0].count("\n")


def code_lines(source: str) -> int:
    code = DOCSTRING.sub(":", TOKEN.sub(masked, source))
    return sum(not line.isspace() and line not in ("", ":") for line in code.split("\n"))


def lines(source: str) -> int:
    return len(source.splitlines())


def figures(root: Path) -> dict[str, int]:
    listed = subprocess.check_output(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],  # noqa: S607
        cwd=root,
        text=True,
    )
    names = sorted({name for name in listed.split("\0") if name and (root / name).is_file()})

    def texts(folders: str | tuple[str, ...], endings: str | tuple[str, ...]) -> Iterable[str]:
        return (
            (root / name).read_text(encoding="utf-8")
            for name in names
            if name.startswith(folders) and name.endswith(endings) and not name.startswith("static/vendor/")
        )

    return {
        "product, code lines": sum(map(code_lines, texts(PRODUCT, ".py"))),
        "product, Python files": sum(1 for _ in texts(PRODUCT, ".py")),
        "tests, code lines": sum(map(code_lines, texts("tests/", ".py"))),
        "fixtures, code lines": sum(map(code_lines, texts("fixtures/", ".py"))),
        "JavaScript, lines": sum(map(lines, texts("static/", ".js"))),
        "templates, lines": sum(map(lines, texts("templates/", ".html"))),
        f"templates, lines over {LONG} characters": sum(
            len(line) > LONG for page in texts("templates/", ".html") for line in page.splitlines()
        ),
        "data, lines": sum(map(lines, texts((*PRODUCT, "fixtures/"), DATA))),
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python .ci/size.py", description=__doc__)
    parser.add_argument("--write", action="store_true", help="lower the values to today's figures")
    parser.add_argument("--reason", default="", metavar="WHY", help="raise and lower the values to today's figures")
    parser.add_argument("--root", type=Path, default=ROOT, help="the project's folder")
    options = parser.parse_args()
    file = options.root / ".ci" / "size.json"
    values = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    grown, shrunk = [], []
    for name, figure in figures(options.root).items():
        entry = values.setdefault(name, {"value": 0, "reason": ""})
        if figure > entry["value"] and options.reason:
            entry.update(value=figure, reason=options.reason)
        elif figure > entry["value"]:
            grown.append(f"  {name}: {figure}, above the value {entry['value']}")
        elif figure < entry["value"] and (options.write or options.reason):
            entry["value"] = figure
        elif figure < entry["value"]:
            shrunk.append(f"  {name}: {figure}, below the value {entry['value']}")
    if options.write or options.reason:
        file.write_text(json.dumps(values, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    if shrunk:
        print("Lower these values with `python .ci/size.py --write`:", *shrunk, sep="\n")
    if grown:
        advice = 'Delete as much elsewhere, or raise the value with `python .ci/size.py --reason "WHY"`.'
        print("The project is larger than .ci/size.json allows:", *grown, advice, sep="\n", file=sys.stderr)
    return 1 if grown else 0


if __name__ == "__main__":
    sys.exit(main())
