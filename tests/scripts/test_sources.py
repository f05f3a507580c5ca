"""docs/sources.md: every command in it is one that the app has, with options and choices that it takes."""

import re
import shlex
from pathlib import Path

import pytest
from django.core.management import get_commands, load_command_class

from deidreview import operations

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "sources.md").read_text(encoding="utf-8")
BLOCKS = "\n".join(re.findall(r"```sh\n(.*?)```", TEXT, re.DOTALL))
PROSE = re.sub(r"```sh\n.*?```", "", TEXT, flags=re.DOTALL)
COMMANDS = sorted({*re.findall(r"^m (.+)$", BLOCKS, re.MULTILINE), *re.findall(r"`m ([^`]+)`", PROSE)})
ROW = re.compile(r"^\|.*\|$", re.MULTILINE)


def parser_of(name):
    """The parser of a command, or of an operation of `do`."""
    if name in operations.operations():
        return operations.parser_of(name, operations.operations()[name])
    return load_command_class(get_commands()[name], name).create_parser("manage.py", name)


def test_there_are_commands_for_most_sources():
    used = {command.split()[0] for command in COMMANDS}
    assert {"score", "agreement", "train_model", "run_model", "do", "compare_runs", "corpus_statistics"} <= used


@pytest.mark.parametrize("command", COMMANDS)
def test_the_command_takes_these_options(command):
    name, *arguments = shlex.split(command)
    parser_of(arguments.pop(0) if name == "do" else name).parse_args(arguments)


def test_options_named_alone_exist():
    words = set(re.findall(r"`(--[a-z-]+)", PROSE))
    named = ("train_model", "run_model", "score", "start_judging_now", "start_injection_now", "start_refinement_now")
    helps = "".join(parser_of(name).format_help() for name in named)
    # `--runs` is named as missing.
    assert {word for word in words if word not in helps} <= {"--runs"}


def test_each_row_fills_all_columns():
    rows = [row.strip("|").split("|") for row in ROW.findall(TEXT)]
    assert len(rows) > 35
    for row in rows:
        assert len(row) == 6 and all(cell.strip() for cell in row), row
