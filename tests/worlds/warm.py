"""Commands of `manage.py` in processes forked from a warm parent, which read their settings from their environment."""

import atexit
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from typing import IO

from tests.worlds import forking


class Forked(forking.Forked):
    """A running command, used like `subprocess.Popen`."""

    def __init__(self, words: Sequence[str], env: Mapping[str, str], stdout: IO[str], stderr: IO[str]) -> None:
        self.args = ["manage.py", *words]
        parent = _environ(env.get("DJANGO_SETTINGS_MODULE", "deidreview.settings"))
        super().__init__("tests.worlds.warm", parent, [self.args, dict(env)], [stdout.fileno(), stderr.fileno()])


def run(words: Sequence[str], env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    with tempfile.TemporaryFile("w+") as stdout, tempfile.TemporaryFile("w+") as stderr:
        command = Forked(words, env, stdout, stderr)
        status = command.wait()
        stdout.seek(0), stderr.seek(0)
        return subprocess.CompletedProcess(command.args, status, stdout.read(), stderr.read())


@cache
def _environ(settings_module: str) -> dict[str, str]:
    """The environment of the warm parent of commands with these settings."""
    return {"PROBE_DATABASE": "{}"} | os.environ | {"DJANGO_SETTINGS_MODULE": settings_module}


def _import_all() -> None:
    """Import what commands need: pages, which the checks visit, all commands, and the code of all kinds of job."""
    import django
    from django.core.management import get_commands, load_command_class

    django.setup()
    from django.urls import get_resolver

    from annotations.jobs.registry import JOBS, load

    len(get_resolver().url_patterns)
    for name, app in get_commands().items():
        # The commands for bulk data import a library that starts threads.
        if not str(app).startswith(("django.", "models_runtime.runs")):
            load_command_class(app, name)
    for kind in JOBS.values():
        load(kind.handler)


def _become(files: list[int], words: list[str], env: dict[str, str]) -> list[str]:
    """Take over the files and the environment of the request, and forget the settings of the warm parent."""
    from django.conf import LazySettings, Settings, settings
    from django.core.cache import caches
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import get_commands
    from django.db import connections
    from django.utils.functional import empty

    from tests.worlds import killing

    for number, file in enumerate(files, start=1):
        os.dup2(file, number)
        os.close(file)
    os.environ.clear()
    os.environ.update(env)
    module = os.environ.setdefault("DJANGO_SETTINGS_MODULE", "deidreview.settings")
    for name in ("deidreview.settings", module):
        sys.modules.pop(name, None)
    assert isinstance(settings, LazySettings)
    try:
        fresh = Settings(module)
    except ImproperlyConfigured:  # The command itself reports this.
        sys.modules.pop(module, None)
        settings._wrapped = empty
        get_commands.cache_clear()
    else:
        # Libraries have added their defaults to the settings when they were imported.
        vars(settings._wrapped).update(vars(fresh))
        settings._wrapped = settings._wrapped  # Django forgets the values that it has looked up.
    for handler in (connections, caches):
        vars(handler).clear()
        handler.__init__()
    killing.install()
    return words


def _end(words: list[str]) -> None:
    """Run the command and end, but without destroying all modules, which would take four times as long as the fork."""
    from deidreview.run.commands import main

    status: object = 1

    def leave() -> None:
        sys.stdout.flush(), sys.stderr.flush()
        os._exit(status if isinstance(status, int) else status is not None)

    # Runs when all threads have ended and what the command registers has been called.
    atexit.register(leave)
    try:
        status = main(words)
    except SystemExit as error:
        status = error.code
        raise


if __name__ == "__main__":
    _import_all()
    request, files = forking.serve(lambda request: None)
    sys.argv = _become(files, *request)
    _end(sys.argv)
