"""The web server under `make run`: the database step, then gunicorn, in a process that loads Django once.

The step runs in a process forked from this one, which loads the pages' code in the meantime. So a start takes the time
of the longer of the two, and the memory of the step is freed when its process ends.

`python -m deidreview.run.web [ARGUMENTS OF PREPARE] -- ARGUMENTS OF GUNICORN`. Without the former, the step is skipped.
"""

import ctypes
import gc
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from types import FrameType

_PR_SET_PDEATHSIG = 1


def main(arguments: Sequence[str]) -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "deidreview.settings")
    # Everything that is loaded here stays in memory: garbage collection would take an eighth of the start.
    gc.disable()
    # Before Django loads, since it decides where requests are counted.
    import deidreview.gunicorn  # noqa: F401, I001 - this order counts
    import django
    from django.core.exceptions import ImproperlyConfigured

    split = list(arguments).index("--")
    try:
        django.setup()
    except ImproperlyConfigured as error:
        return _fail(str(error))
    if arguments[:split]:
        status = _prepare_and_load(arguments[:split])
        if status:
            return status
    sys.argv = ["gunicorn", *arguments[split + 1 :]]
    from gunicorn.app.wsgiapp import run

    run()
    return 0


def prepare(arguments: Sequence[str]) -> int:
    """Run `manage.py prepare` after Django was set up, with each failure as one line. Return the exit status."""
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import CommandError, call_command
    from django.db import Error

    try:
        call_command("prepare", *arguments)
    except (ImproperlyConfigured, CommandError) as error:
        return _fail(str(error))
    except Error as error:
        # The first line names the host or file; data never gets into a connection or schema error's first line.
        return _fail(f"The database does not answer: {str(error).splitlines()[0]}")
    except OSError as error:
        return _fail(f"{error.filename or 'The data folder'} cannot be written ({error.strerror}).")
    return 0


def _fail(line: str) -> int:
    print(f"deidreview: {line}", file=sys.stderr, flush=True)
    return 1


def _prepare_and_load(arguments: Sequence[str]) -> int:
    """Run the step and load the pages' code at the same time. Return the step's exit status."""
    step = _fork(arguments)

    def end(signum: int, frame: FrameType | None) -> None:
        # No exception: Python may be in a callback that prints exceptions and goes on, as while it imports a module.
        os.kill(step, signal.SIGTERM)
        os.waitpid(step, 0)
        os._exit(0)

    signal.signal(signal.SIGTERM, end)
    import deidreview.web_worker  # noqa: F401 - gunicorn imports it by name
    from deidreview.gunicorn import load_pages

    load_pages()
    os.waitid(os.P_PID, step, os.WEXITED | os.WNOWAIT)
    # From here on the step needs no signal, so its process is released only after the handler is gone.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    return abs(os.waitstatus_to_exitcode(os.waitpid(step, 0)[1]))


def _fork(arguments: Sequence[str]) -> int:
    """Fork the process of the step and return its process id."""
    parent = os.getpid()
    child = os.fork()
    greeting = int(arguments[list(arguments).index("--greeting-fd") + 1])
    if child:
        # Now only the step holds the pipe, so the pipe closes when the step ends.
        os.close(greeting)
        return child
    status = 1
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() == parent:  # the parent did not die before prctl
            gc.enable()
            status = prepare(arguments)
    except BaseException:
        traceback.print_exc()
    finally:
        if not status:
            # The greeting may be empty. This byte says that the step succeeded.
            os.write(greeting, b"\n")
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
