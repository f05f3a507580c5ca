"""`manage.py` and `deidreview`: all commands, with a one-line error if the app was not set up yet."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from annotations.installation import PROGRAM, data_folder
from deidreview import VERSION
from deidreview.run import environment, folder

HELP = {"help", "--help", "-h"}
# Commands that only print, and commands that run beside an app that is already set up.
NEEDS_NOTHING = HELP | {"relay", "work"}
# Commands that create the database themselves, or never use it.
_WITHOUT_DATABASE = (
    "check collectstatic compilemessages completion diffsettings findstatic makemessages makemigrations migrate "
    "prepare ready restore run showmigrations sqlmigrate"
)
NEEDS_NO_DATABASE = frozenset(_WITHOUT_DATABASE.split())
NEXT = f"Run: {PROGRAM} prepare"


def main(arguments: Sequence[str]) -> int:
    """Run a command and return the exit status."""
    name, rest = (arguments[1], arguments[2:]) if arguments[1:] else ("help", [])
    if name in {"version", "--version"}:
        print(VERSION)
        return 0
    if name == "run" and not {"-h", "--help"} & set(rest):
        # The supervisor never imports Django.
        from deidreview.run import supervisor

        return supervisor.main(rest)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "deidreview.settings")
    if "DJANGO_AUTO_COMPLETE" in os.environ:
        # A shell asks for completions (the command `completion`).
        name = "help"
    if name in HELP:
        # Lists and completions need no data, and sign nothing: they work before there is a secret key.
        os.environ.setdefault("DEIDREVIEW_SECRET_KEY", "only-to-list-the-commands" * 2)
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line
    from django.db import OperationalError, ProgrammingError

    try:
        if name not in NEEDS_NOTHING:
            data = data_folder(os.environ)
            folder.ready(data, os.environ, _say)
            if name not in NEEDS_NO_DATABASE and not {"-h", "--help"} & set(rest):
                _prepare_new(data, name)
        execute_from_command_line(list(arguments))
    except (environment.StartError, ImproperlyConfigured) as error:
        return _fail(str(error))
    except (OperationalError, ProgrammingError) as error:
        line = _database_line(error)
        if line is None:
            raise
        return _fail(line)
    return 0


def _prepare_new(data: Path, name: str) -> None:
    """Create the database of a data folder that nobody has used yet, and say so in one line.

    A database that exists is left alone, whatever its version: only `prepare` backs it up and migrates it. So is one
    that DATABASE_URL names, since other machines may use it. Raise StartError if an app uses the folder.
    """
    if os.environ.get("DATABASE_URL") or not folder.is_new(data):
        return
    import django
    from django.core.management import get_commands

    from annotations.core.errors import ServiceError

    django.setup()
    from deidreview import preparing

    if name not in get_commands():
        return
    done: list[str] = []
    try:
        with preparing.alone(say=_say):
            preparing.prepare_database(say=done.append)
    except ServiceError as error:
        raise environment.StartError(str(error)) from error
    # Another command may have prepared the folder while this one waited.
    if done:
        _say(f"Prepared the new data folder {data}: a secret key and an empty database.")


def _database_line(error: Exception) -> str | None:
    """Say what to do if the database is new, old or unreachable. Return None if the error has another cause."""
    from django.db import Error

    from annotations.ops.services.backup import schema_state

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
