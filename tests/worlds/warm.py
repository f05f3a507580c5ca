"""Commands of `manage.py` in processes forked from a warm parent, since importing Django takes 1.3 s of processor time.

Only the imports are shared. Each command is a process of its own, which reads its settings anew from its environment.
"""

import atexit
import gc
import json
import os
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO

from tests.waiting import HANGS, wait_for

ROOT = Path(__file__).resolve().parents[2]
# A request is one message: words and environment.
LONGEST = 1 << 17


class Forked:
    """A running command, used like `subprocess.Popen`."""

    def __init__(self, words: Sequence[str], env: Mapping[str, str], stdout: IO[str], stderr: IO[str]) -> None:
        self.args = ["manage.py", *words]
        self.returncode: int | None = None
        self._status, theirs = socket.socketpair()
        parent = _parent(env.get("DJANGO_SETTINGS_MODULE", "deidreview.settings"))
        request = json.dumps([self.args, dict(env)]).encode()
        files = [theirs.fileno(), stdout.fileno(), stderr.fileno()]
        socket.send_fds(parent, [request], files)
        theirs.close()
        self.pid = int(self._status.recv(100) or 0)
        assert self.pid, "The warm parent has ended."

    def __del__(self) -> None:
        self._status.close()

    def poll(self) -> int | None:
        if self.returncode is None:
            with suppress(BlockingIOError):
                self.returncode = int(self._status.recv(100, socket.MSG_DONTWAIT) or -signal.SIGKILL)
        return self.returncode

    def wait(self, timeout: float = HANGS) -> int:
        wait_for(lambda: self.poll() is not None, timeout, f"process {self.pid} to end")
        return int(self.returncode or 0)

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def run(words: Sequence[str], env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    with tempfile.TemporaryFile("w+") as stdout, tempfile.TemporaryFile("w+") as stderr:
        command = Forked(words, env, stdout, stderr)
        status = command.wait()
        stdout.seek(0), stderr.seek(0)
        return subprocess.CompletedProcess(command.args, status, stdout.read(), stderr.read())


@cache
def _parent(settings_module: str) -> socket.socket:
    """Start the warm parent of commands with these settings. It ends with this process."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 2 * LONGEST)
    env = {"PROBE_DATABASE": "{}"} | os.environ | {"DJANGO_SETTINGS_MODULE": settings_module}
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.worlds.warm", str(theirs.fileno())],
        cwd=ROOT, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=[theirs.fileno()],
    )  # fmt: skip
    theirs.close()

    def end() -> None:
        ours.close()
        process.wait()

    atexit.register(end)
    return ours


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
        if not str(app).startswith(("django.", "models_runtime.bulk")):
            load_command_class(app, name)
    for kind in JOBS.values():
        load(kind.handler)
    gc.collect()
    gc.freeze()
    assert len([*Path("/proc/self/task").iterdir()]) == 1, "A process with threads can't be forked safely."


def _serve(requests: socket.socket) -> list[str]:
    """Fork a process for each request, and report how it ends. Return only in the forked processes, with the words."""
    waiting = selectors.DefaultSelector()
    waiting.register(requests, selectors.EVENT_READ)
    while True:
        for key, _ in waiting.select():
            if key.fileobj is not requests:
                pid, status = key.data
                waiting.unregister(key.fd), os.close(key.fd)
                with suppress(OSError):  # The test may be over.
                    status.send(b"%d" % os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
                status.close()
                continue
            message, files, _, _ = socket.recv_fds(requests, LONGEST, 3)
            if not message:
                os._exit(0)
            status = socket.socket(fileno=files[0])
            if not (pid := os.fork()):
                status.close(), requests.close()
                for other in list(waiting.get_map().values())[1:]:
                    os.close(other.fd), other.data[1].close()
                waiting.close()
                return _become(files[1:], *json.loads(message))
            os.close(files[1]), os.close(files[2])
            status.send(b"%d" % pid)
            waiting.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, status))


def _become(files: list[int], words: list[str], env: dict[str, str]) -> list[str]:
    """Take over the files and the environment of the request, and forget the settings of the warm parent."""
    from django.conf import LazySettings, Settings, settings
    from django.core.cache import caches
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import get_commands
    from django.db import connections
    from django.utils.functional import empty

    from tests.worlds import killing

    signal.signal(signal.SIGINT, signal.default_int_handler)
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
    # The parent ends when the tests do, and not by a Ctrl-C, which reaches it too.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _import_all()
    sys.argv = _serve(socket.socket(fileno=int(sys.argv[1])))
    _end(sys.argv)
