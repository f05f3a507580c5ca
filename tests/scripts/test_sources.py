"""docs/sources.md: every command in it is one that the app has, with options and choices that it takes."""

import re
import shlex
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "sources.md").read_text(encoding="utf-8")
BLOCKS = "\n".join(re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL))
PROSE = re.sub(r"```sh\n.*?```", "", TEXT, flags=re.DOTALL)
COMMANDS = sorted({*re.findall(r"^m (.+)$", BLOCKS, re.MULTILINE), *re.findall(r"`m ([^`]+)`", PROSE)})
ROW = re.compile(r"^\|.*\|$", re.MULTILINE)


def test_there_are_commands_for_most_sources():
    used = {command.split()[0] for command in COMMANDS}
    assert {"score", "agreement", "train_model", "run_model", "judge", "compare_runs", "corpus_statistics"} <= used


@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_takes_these_options(command):
    name, *arguments = shlex.split(command)
    found = load_command_class(get_commands()[name], name)
    found.create_parser("manage.py", name).parse_args(arguments)


def test_options_named_alone_exist():
    words = set(re.findall(r"`(--[a-z-]+)", PROSE))
    helps = [
        load_command_class(get_commands()[name], name).create_parser("manage.py", name).format_help()
        for name in ("train_model", "run_model", "judge", "score", "inject_errors")
    ]
    missing = {word for word in words if not any(word in text for text in helps)}
    # `--runs` is named as missing.
    assert missing <= {"--runs"}


def test_each_row_fills_all_columns():
    rows = [row.strip("|").split("|") for row in ROW.findall(TEXT)]
    assert len(rows) > 35
    for row in rows:
        assert len(row) == 6 and all(cell.strip() for cell in row), row
