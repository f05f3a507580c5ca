"""The loader under `make run`: it loads Django and the pages' code once, and forks the other processes from itself.

So the web server, the relay and the worker share the memory of all that was loaded, and start at once. Before it forks
them, it runs the database step in a process of its own and loads the code meanwhile: a start takes the time of the
longer of the two, and the memory of the step is freed when its process ends.

`python -m deidreview.run.loader SOCKET [ARGUMENTS OF PREPARE]`. Without the latter, the step is skipped. SOCKET is the
descriptor on which the supervisor asks (`deidreview.run.children.Loader`): `fork NAME` is answered by `forked PID`,
`signal PID NUMBER` by nothing, and `ended PID STATUS` tells that a process ended.
"""

import contextlib
import ctypes
import gc
import os
import select
import signal
import socket
import sys
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from types import FrameType

_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG, _PR_SET_NAME = 1, 15


def main(arguments: Sequence[str]) -> int:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "deidreview.settings")
    # Everything that is loaded here stays in memory: garbage collection would take an eighth of the start.
    gc.disable()
    # Before Django loads, since it decides where requests are counted.
    import deidreview.gunicorn  # noqa: F401, I001 - this order counts
    import django
    from django.core.exceptions import ImproperlyConfigured

    try:
        django.setup()
    except ImproperlyConfigured as error:
        return _fail(str(error))
    status = _load(arguments[1:])
    return status or _serve(socket.socket(fileno=int(arguments[0])))


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


def _load(step: Sequence[str]) -> int:
    """Load the pages' code, and run the database step at the same time if there is one. Return the step's status."""
    forked = _fork_step(step) if step else None

    def end(signum: int, frame: FrameType | None) -> None:
        # No exception: Python may be in a callback that prints exceptions and goes on, as while it imports a module.
        if forked:
            os.kill(forked, signal.SIGTERM)
            os.waitpid(forked, 0)
        os._exit(0)

    signal.signal(signal.SIGTERM, end)
    import deidreview.web_worker  # noqa: F401 - gunicorn imports it by name
    from deidreview.gunicorn import load_pages

    load_pages()
    if forked:
        os.waitid(os.P_PID, forked, os.WEXITED | os.WNOWAIT)
    # From here on the step needs no signal, so its process is released only after the handler is gone.
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    return abs(os.waitstatus_to_exitcode(os.waitpid(forked, 0)[1])) if forked else 0


def _fork_step(arguments: Sequence[str]) -> int:
    """Fork the process of the step and return its process id."""
    greeting = int(arguments[list(arguments).index("--greeting-fd") + 1])

    def step() -> int:
        status = prepare(arguments)
        if not status:
            # The greeting may be empty. This byte says that the step succeeded.
            os.write(greeting, b"\n")
        return status

    forked = _fork(step)
    # Now only the step holds the pipe, so the pipe closes when the step ends.
    os.close(greeting)
    return forked


def _fork(run: Callable[[], int]) -> int:
    """Fork a process that gets SIGTERM when this one dies, even by kill -9, and ends with the status of `run`."""
    parent = os.getpid()
    if forked := os.fork():
        return forked
    status = 1
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() == parent:  # the parent did not die before prctl
            gc.enable()
            status = run()
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _serve(asked: socket.socket) -> int:
    """Fork processes and pass signals on until the supervisor closes the socket."""
    from django.db import connections

    connections.close_all()  # A connection must not cross a fork.
    gc.collect()
    gc.freeze()
    running: dict[int, int] = {}  # descriptors of processes by their ids
    while True:
        ready = select.select([asked.fileno(), *running.values()], [], [])[0]
        for pid in [pid for pid, descriptor in running.items() if descriptor in ready]:
            os.close(running.pop(pid))
            asked.send(f"ended {pid} {os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])}".encode())
            os.kill(os.getppid(), signal.SIGCHLD)  # The supervisor waits for signals.
        if asked.fileno() not in ready:
            continue
        word, *rest = asked.recv(256).decode().split() or ("end",)
        if word == "end":
            return 0
        if word == "fork":
            pid = _fork(partial(_child, rest[0], asked))
            running[pid] = os.pidfd_open(pid)
            asked.send(f"forked {pid}".encode())
        elif int(rest[0]) in running:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(rest[0]), int(rest[1]))


def _child(name: str, asked: socket.socket) -> int:
    """Be the web server, the relay (`relay`) or a worker (`work`), in a session of one's own."""
    os.setsid()
    asked.close()
    _LIBC.prctl(_PR_SET_NAME, f"deid-{name}".encode())  # as `ps` and `top` show it
    if name == "web":
        Path(os.environ["PROMETHEUS_MULTIPROC_DIR"]).mkdir(mode=0o700, parents=True, exist_ok=True)
        sys.argv = ["gunicorn", "-c", "python:deidreview.gunicorn", "deidreview.wsgi"]
        from gunicorn.app.wsgiapp import run

        run()
        return 0
    os.close(int(os.environ.pop("DEIDREVIEW_LISTEN_FD")))
    from deidreview.run.commands import main as command

    return command(["deidreview", name])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
