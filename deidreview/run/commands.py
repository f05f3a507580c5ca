"""`manage.py`: Django's commands, with a one-line error if the app was not set up yet."""

import os
import sys
from collections.abc import Sequence

from deidreview.run import environment, folder

# Commands that only print, and commands that run beside an app that is already set up.
NEEDS_NOTHING = {"help", "--help", "-h", "version", "--version", "relay", "work"}
NEXT = "Run `make run` once, or run: .venv/bin/python manage.py prepare"


def main(arguments: Sequence[str]) -> int:
    """Run a command and return the exit status."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "deidreview.settings")
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line
    from django.db import OperationalError, ProgrammingError

    try:
        if arguments[1:2] and arguments[1] not in NEEDS_NOTHING:
            folder.ready(environment.data_folder(os.environ), os.environ, _say)
        execute_from_command_line(list(arguments))
    except (environment.StartError, ImproperlyConfigured) as error:
        return _fail(str(error))
    except (OperationalError, ProgrammingError) as error:
        line = _database_line(error)
        if line is None:
            raise
        return _fail(line)
    return 0


def _database_line(error: Exception) -> str | None:
    """Say what to do if the database is new, old or unreachable. Return None if the error has another cause."""
    from django.db import Error

    from annotations.ops.services.schema import schema_state

    try:
        state = schema_state()
    except Error:
        # The first line names the host or file; data never gets into a connection error's first line.
        return f"The database does not answer: {str(error).splitlines()[0]}"
    return f"The database has no tables of this version yet. {NEXT}" if state.pending else None


def _say(line: str) -> None:
    print(f"deidreview: {line}", file=sys.stderr, flush=True)


def _fail(line: str) -> int:
    _say(line)
    return 1
