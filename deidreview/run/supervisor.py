"""Start Redis, the database step, the web server, the relay and a worker; watch them; stop them in order."""

import os
import signal
import sys
import time
from collections.abc import Callable

from deidreview.run import children, environment, folder
from deidreview.run.children import Child
from deidreview.run.environment import Options, StartError
from deidreview.run.page import FirstPage
from deidreview.run.redis_server import PrivateRedis

# Blocked, and taken one by one where the supervisor is ready for them: no handler runs in the middle of anything.
SIGNALS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD}
LOOK_AGAIN_SECONDS = 1.0
# A web server that ends so often before its first page will not get better by itself.
HOPELESS = 3
# Where a person lands first; asking for it also warms the templates.
FIRST_PAGE = "/accounts/login/"


def say(line: str) -> None:
    print(line, flush=True)


def warn(line: str) -> None:
    print(f"deidreview: {line}", file=sys.stderr, flush=True)


class Stop(Exception):
    """Somebody asked for the end (Ctrl-C, SIGTERM)."""


class Supervisor:
    def __init__(self, options: Options) -> None:
        self.options = options
        self.children: list[Child] = []
        self.redis: PrivateRedis | None = None
        self.greeting = ""
        self.greeted = False

    def run(self) -> int:
        """Until asked to stop. Gives the exit status; raises StartError when the start fails."""
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
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
        return {
            **os.environ,
            "DEIDREVIEW_DATA": str(self.options.data),
            "DEIDREVIEW_DEMO": "1" if self.options.demo else "0",
            "DJANGO_SETTINGS_MODULE": "deidreview.settings",
            "PYTHONUNBUFFERED": "1",
            # Threads share two heaps instead of growing one for each.
            "MALLOC_ARENA_MAX": os.environ.get("MALLOC_ARENA_MAX", "2"),
        }

    def _start(self) -> None:
        redis = self._start_redis()
        self._database_step()
        if redis and self.redis:
            note = self.redis.wait(redis, self.pause)
            if note:
                warn(note)
        web = self._python("web", "gunicorn", "-c", "python:deidreview.gunicorn", "deidreview.wsgi", grace=15)
        self._first_page(web)
        self._python("relay", "manage", "relay", grace=10)
        self._python("worker", "manage", "work", grace=30)
        self._greet()

    def _start_redis(self) -> Child | None:
        if self.options.redis_url:
            return None
        self.redis = PrivateRedis(self.options.data, self.environ, [self.lock])
        self.environ["REDIS_URL"] = self.redis.url
        return self._add("Redis", self.redis.start, grace=20)

    def _database_step(self) -> None:
        """Its own words say what is wrong; here only whether it went well."""
        reading, writing = os.pipe()
        words = ["--greeting-fd", str(writing)]
        if not environment.is_loopback(self.options.host):
            words.append("--public")
        step = children.spawn(
            [sys.executable, "-m", "deidreview.run.database", *words], self.environ, [self.lock, writing]
        )
        os.close(writing)
        try:
            while step.poll() is None:
                self.pause(LOOK_AGAIN_SECONDS)
        finally:
            children.end(step, 30)
        if step.returncode:
            raise StartError("")
        with os.fdopen(reading, encoding="utf-8") as pipe:
            self.greeting = pipe.read()

    def _python(self, name: str, module: str, *words: str, grace: float) -> Child:
        environ = (
            {**self.environ, "DEIDREVIEW_LISTEN_FD": str(self.listener.fileno())} if name == "web" else self.environ
        )
        keep = [self.lock, self.listener.fileno()] if name == "web" else [self.lock]
        return self._add(
            name, lambda: children.spawn([sys.executable, "-m", module, *words], environ, keep), grace=grace
        )

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
                    raise StartError("The web server does not start; its own words are above")
                if page.failures >= HOPELESS:
                    raise StartError("The web server fails at its first page; its own words are above")
        finally:
            page.forget()

    def _greet(self) -> None:
        self.greeted = True
        say(f"deidreview is at {self.options.address}  (Ctrl-C stops everything)")
        if self.greeting:
            say(self.greeting)
        if not environment.is_loopback(self.options.host) and not os.environ.get("DEIDREVIEW_HOSTS"):
            warn("other machines are refused until DEIDREVIEW_HOSTS lists the names they call this one by")

    # ── Watch and stop ───────────────────────────────────────────────────────────────────────────────────────────────

    def pause(self, seconds: float) -> None:
        """Sleep until the time is over or a child ended. Raises Stop when somebody asked for the end."""
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
        """The web server first, so that nothing new comes in; Redis last, when nobody needs it any more."""
        order = {"web": 0, "worker": 1, "relay": 2, "Redis": 3}
        if self.greeted:
            say("Stopping")
        began = time.monotonic()
        hurry = False

        def hurried() -> bool:
            # A second Ctrl-C: no more patience, but Redis still writes its file.
            nonlocal hurry
            hurry = hurry or self._taken(0)
            return hurry

        for child in sorted(self.children, key=lambda child: order[child.name]):
            patient = (lambda: False) if child.name == "Redis" else hurried
            if not child.stop(patient) and not hurry:
                warn(f"The {child.name} process did not end within {child.grace:g} s and was killed")
        if self.redis:
            self.redis.clean()
        self.listener.close()
        if self.greeted:
            say(f"Stopped in {time.monotonic() - began:.1f} s; everything is saved")


def main() -> int:
    try:
        return Supervisor(environment.read(os.environ)).run()
    except StartError as error:
        if str(error):
            warn(str(error))
        return 1
