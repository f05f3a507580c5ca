"""Commands run by tests: what they print as JSON, or the code of their error."""

import io
import json
from typing import Any

import pytest
from django.core.management import CommandError, call_command


def printed(name: str, *words: object) -> str:
    out = io.StringIO()
    call_command(name, *map(str, words), stdout=out)
    return out.getvalue()


def told(name: str, *words: object) -> Any:
    """The JSON that the command prints last; a failure is raised."""
    return json.loads(printed(name, *words, "--json").splitlines()[-1])


def answered(name: str, *words: object) -> Any:
    """Run the command with --json. Return its result, or the code of its error."""
    out = io.StringIO()
    try:
        call_command(name, *map(str, words), "--json", stdout=out)
    except CommandError:
        return json.loads(out.getvalue())["code"]
    return json.loads(out.getvalue())


def failed(name: str, *words: object) -> Any:
    """Run a command that must fail, with --json. Return its error, or what it did and what it refused."""
    out = io.StringIO()
    with pytest.raises(CommandError):
        call_command(name, *map(str, words), "--json", stdout=out)
    return json.loads(out.getvalue())
