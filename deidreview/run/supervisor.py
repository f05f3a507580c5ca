"""The supervisor: starts, watches and stops Redis, the web server with the database step, the relay and a worker."""

import os
import select
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence

from deidreview.run import children, environment, folder
from deidreview.run.children import Child, PrivateRedis
from deidreview.run.environment import Options, StartError

# A request for the first page of our own web server, on a plain socket: http.client would cost the supervisor 5 MB.


class FirstPage:
    """One request that waits for its response.

    The listening socket exists before the server does, so the connection succeeds at once and the response comes when
    the server is up, without polling.
    """

    def __init__(self, listener: socket.socket, host_header: str, path: str) -> None:
        self._listener = listener
        self._request = f"GET {path} HTTP/1.0\r\nHost: {host_header}\r\nUser-Agent: deidreview-start\r\n\r\n".encode()
        self._connection: socket.socket | None = None
        self.failures = 0  # responses with status 500 and above

    def came(self, seconds: float) -> bool:
        """Wait up to `seconds`. Return whether the server answered with a status below 500."""
        try:
            if self._connection is None:
                self._connection = self._ask()
            if not select.select([self._connection], [], [], seconds)[0]:
                return False
            first = self._connection.recv(64).split()
        except OSError:
            first = []
        self.forget()
        if len(first) < 2 or not first[0].startswith(b"HTTP/") or not first[1].isdigit():
            return False
        failed = int(first[1]) >= 500
        self.failures += failed
        return not failed

    def forget(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _ask(self) -> socket.socket:
        name = self._listener.getsockname()
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(name[0], name[0])  # noqa: S104 - compared, not bound
        connection = socket.create_connection((host, name[1]), timeout=5)
        connection.sendall(self._request)
        return connection


# These signals are blocked and taken with sigtimedwait, so that no handler interrupts the supervisor.
SIGNALS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD}
LOOK_AGAIN_SECONDS = 1.0
# After this many failures before the first page, the start fails.
HOPELESS = 3
# The page that people see first. Requesting it also loads its templates.
FIRST_PAGE = "/accounts/login/"


def say(line: str) -> None:
    print(line, flush=True)


def warn(line: str) -> None:
    print(f"deidreview: {line}", file=sys.stderr, flush=True)


class Stop(Exception):
    """A request to stop (Ctrl-C, SIGTERM)."""


class Supervisor:
    """`as_json`: print one JSON object once the first page is there, and everything else as errors."""

    def __init__(self, options: Options, *, as_json: bool = False) -> None:
        self.options = options
        self.as_json = as_json
        self.children: list[Child] = []
        self.redis: PrivateRedis | None = None
        self.loader: children.Loader | None = None
        self.greeting = ""
        self.greeted = False

    def run(self) -> int:
        """Run until a signal to stop and return the exit status. Raise StartError if the start fails."""
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        if self.as_json:
            # Standard output gets the one object, so all lines of this process and its children become errors.
            self._result = os.dup(1)
            os.dup2(2, 1)
        self.lock = folder.prepare(self.options.data, say)
        self.listener = environment.listen(self.options.host, self.options.port)
        self.environ = self._environ()
        try:
            self._start()
            while True:
                self.pause(LOOK_AGAIN_SECONDS)
                self._watch()
        except Stop:
            return 0
        finally:
            self._stop()

    # ── Start ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def _environ(self) -> dict[str, str]:
        # Without bytecode every start would compile the app again. PYTHONPYCACHEPREFIX can name another folder for it.
        inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        return {
            **inherited,
            "DEIDREVIEW_DATA": str(self.options.data),
            "DEIDREVIEW_DEMO": "1" if self.options.demo else "0",
            "DJANGO_SETTINGS_MODULE": "deidreview.settings",
            "PYTHONUNBUFFERED": "1",
            # All threads share two heaps; a heap for each thread would take more memory.
            "MALLOC_ARENA_MAX": os.environ.get("MALLOC_ARENA_MAX", "2"),
        }

    def _start(self) -> None:
        redis = self._start_redis()
        self._prepare()
        web = self._fork("web", "web", grace=15)
        if redis and self.redis:
            note = self.redis.wait(redis, self.pause)
            if note:
                warn(note)
        self._first_page(web)
        self._fork("relay", "relay", grace=10)
        self._fork("worker", "work", grace=30)
        self._greet()

    def _start_redis(self) -> Child | None:
        if self.options.redis_url:
            return None
        self.redis = PrivateRedis(self.options.data, self.environ, [self.lock])
        self.environ["REDIS_URL"] = self.redis.url
        return self._add("Redis", self.redis.start, grace=20)

    def _prepare(self) -> None:
        """Start the loader, which runs the database step first. Raise StartError if the step fails.

        The step has printed its error by then, so the StartError is empty.
        """
        reading, writing = os.pipe()
        step = ["--greeting-fd", str(writing)]
        if not environment.is_loopback(self.options.host):
            step.append("--public")
        environ = {**self.environ, "DEIDREVIEW_LISTEN_FD": str(self.listener.fileno())}

        def start(descriptor: int) -> children.Popen:
            # A loader that is started again needs no database step.
            keep = [self.lock, self.listener.fileno(), descriptor, *([writing] if step else [])]
            command = [sys.executable, "-m", "deidreview.run.loader", str(descriptor), *step]
            step.clear()
            return children.spawn(command, environ, keep)

        self.loader = children.Loader(start)
        self.loader.start()
        os.close(writing)
        with os.fdopen(reading, encoding="utf-8") as pipe:
            while not select.select([pipe], [], [], 0)[0]:
                self.pause(0.02)
            greeting = pipe.read()
        if not greeting:
            raise StartError("")
        self.greeting = greeting.strip()

    def _fork(self, name: str, command: str, *, grace: float) -> Child:
        loader = self.loader
        assert loader is not None  # `_prepare` has started it.
        return self._add(name, lambda: loader.fork(command), grace=grace)

    def _add(self, name: str, start: Callable[[], children.Process], *, grace: float) -> Child:
        child = Child(name, start, grace=grace)
        child.start()
        self.children.append(child)
        return child

    def _first_page(self, web: Child) -> None:
        hosts = [host for host in os.environ.get("DEIDREVIEW_HOSTS", "").split(",") if host.strip("*. ")]
        page = FirstPage(self.listener, hosts[0].strip() if hosts else "127.0.0.1", FIRST_PAGE)
        try:
            while not page.came(0.1):
                self.pause(0)
                self._watch()
                if web.failures >= HOPELESS:
                    raise StartError("The web server does not start. Its messages are above.")
                if page.failures >= HOPELESS:
                    raise StartError("The web server fails to show its first page. Its messages are above.")
        finally:
            page.forget()

    def _greet(self) -> None:
        self.greeted = True
        if self.as_json:
            import json  # imported only here, so that the supervisor stays small

            with os.fdopen(self._result, "w") as result:
                json.dump({"address": self.options.address, "data": str(self.options.data)}, result)
                result.write("\n")
        say(f"deidreview is at {self.options.address}  (Ctrl-C stops everything)")
        if self.greeting:
            say(self.greeting)
        if not environment.is_loopback(self.options.host) and not os.environ.get("DEIDREVIEW_HOSTS"):
            warn(
                "DEIDREVIEW_HOSTS: Requests of other machines are refused until it lists the host names that they use."
            )

    # ── Watch and stop ───────────────────────────────────────────────────────────────────────────────────────────────

    def pause(self, seconds: float) -> None:
        """Sleep until the time is over or a child ended. Raise Stop at a signal to stop."""
        if self._taken(seconds):
            raise Stop

    def _taken(self, seconds: float) -> bool:
        information = signal.sigtimedwait(SIGNALS, seconds)
        return information is not None and information.si_signo != signal.SIGCHLD

    def _watch(self) -> None:
        for child in self.children:
            line = child.watch()
            if line:
                warn(line)

    def _stop(self) -> None:
        """Stop the web server first, so that no new request arrives, and Redis last, when no process needs it."""
        if self.greeted:
            say("Stopping")
        began = time.monotonic()
        hurry = False

        def hurried() -> bool:
            # A second Ctrl-C ends the waiting, but Redis still writes its file.
            nonlocal hurry
            hurry = hurry or self._taken(0)
            return hurry

        children_by_name = {child.name: child for child in self.children}
        for name in ("web", "worker", "relay", "loader", "Redis"):
            if name == "loader" and self.loader:
                self.loader.stop()
            child = children_by_name.get(name)
            patient = (lambda: False) if name == "Redis" else hurried
            if child and not child.stop(patient) and not hurry:
                warn(f"The {name} process did not end within {child.grace:g} s and was killed.")
        if self.redis:
            self.redis.clean()
        self.listener.close()
        if self.greeted:
            say(f"Stopped in {time.monotonic() - began:.1f} s. Everything is saved.")


def main(arguments: Sequence[str] = ()) -> int:
    """Start everything and run until a signal to stop. Return the exit status."""
    unknown = [word for word in arguments if word != "--json"]
    if unknown:
        warn(f"The command “run” has no option “{unknown[0]}”. It reads PORT, HOST and other environment variables.")
        return 2
    try:
        return Supervisor(environment.read(os.environ), as_json="--json" in arguments).run()
    except StartError as error:
        if str(error):
            warn(str(error))
        return 1
