"""The product as `make run` starts it: real processes in a data folder of the test's own, on the run's database."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from django.db import connection

from tests.worlds.pages import sign_in, world
from tests.worlds.queue import make_job, no_redis, probes, processes, redis_server

__all__ = ["make_job", "no_redis", "probes", "processes", "redis_server", "sign_in", "world"]

ROOT = Path(__file__).resolve().parents[2]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for(check: Callable[[], object], timeout: float = 30.0, what: str = "it") -> object:
    until = time.monotonic() + timeout
    while time.monotonic() < until:
        found = check()
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError(f"waited {timeout} s for {what}")


class Product:
    """One `python -m deidreview.run`. Output of both kinds goes to one file, in the order it was written."""

    def __init__(self, data: Path, environ: dict[str, str], log: Path) -> None:
        self.data = data
        self.port = int(environ["PORT"]) if environ["PORT"].isdigit() else 0
        self._log = log
        self._seen: dict[int, psutil.Process] = {}
        with log.open("w") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "deidreview.run"],
                cwd=ROOT,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )

    @property
    def output(self) -> str:
        return self._log.read_text()

    def wait_ready(self, timeout: float = 60.0) -> "Product":
        wait_for(
            lambda: "deidreview is at" in self.output or self.process.poll() is not None, timeout, "the first page"
        )
        assert self.process.poll() is None, self.output
        wait_for(lambda: {"relay", "work"} <= set(self.commands()), 20, "relay and worker")
        return self

    def get(self, path: str) -> tuple[int, str]:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=20) as answer:
            return answer.status, answer.read().decode()

    def tree(self) -> list[psutil.Process]:
        """All processes that it started, those of its children too."""
        found = psutil.Process(self.process.pid).children(recursive=True)
        self._seen |= {process.pid: process for process in found}
        return found

    def commands(self) -> dict[str, psutil.Process]:
        """Its children by what they are: web, relay, work, redis."""
        names = {}
        for child in psutil.Process(self.process.pid).children():
            try:
                words = " ".join(child.cmdline())
            except psutil.Error:
                continue
            for word, name in (("gunicorn", "web"), ("relay", "relay"), ("manage work", "work"), ("redis", "redis")):
                if word in words:
                    names[name] = child
        return names

    def ask_to_stop(self, number: int = signal.SIGINT) -> None:
        self.tree()
        self.process.send_signal(number)

    def stop(self, number: int = signal.SIGINT, timeout: float = 40.0) -> int:
        self.ask_to_stop(number)
        return self.process.wait(timeout)

    def survivors(self) -> list[psutil.Process]:
        """Those of its processes that are still there."""
        return [one for one in self._seen.values() if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]

    def finish(self, timeout: float = 30.0) -> tuple[int, str]:
        """For a start that is to fail: its exit status and words."""
        return self.process.wait(timeout), self.output.strip()

    def kill_all(self) -> None:
        if self.process.poll() is None:
            self.tree()
            self.process.kill()
            self.process.wait()
        for one in self.survivors():
            one.kill()


@contextmanager
def own_database() -> Iterator[dict[str, str]]:
    """A database for one product: none named (its own SQLite file), or a new one on the run's PostgreSQL server."""
    if connection.vendor != "postgresql":
        yield {}
        return
    import psycopg

    place = connection.settings_dict
    name = f"ops_{uuid.uuid4().hex[:8]}"
    server = {"host": place["HOST"], "port": place["PORT"] or None, "user": place["USER"], "dbname": "postgres"}
    server["password"] = place["PASSWORD"] or None
    with psycopg.connect(**server, autocommit=True) as own:
        own.execute(f'CREATE DATABASE "{name}"')
    yield {"DATABASE_URL": os.environ["DATABASE_URL"].rsplit("/", 1)[0] + f"/{name}"}
    with psycopg.connect(**server, autocommit=True) as own:
        own.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


def clean_environ(data: Path) -> dict[str, str]:
    """What a product of a test sees; nothing of the shell's own settings."""
    ours = ("DEIDREVIEW_", "DATABASE_URL", "REDIS_URL", "DJANGO_", "HOST", "PORT")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**clean, "DEIDREVIEW_DATA": str(data), "DEIDREVIEW_DEMO": "0", "PORT": str(free_port())}


@pytest.fixture
def environ(tmp_path: Path) -> Iterator[dict[str, str]]:
    with own_database() as database:
        yield clean_environ(tmp_path / "data") | database


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], None]:
    """`prepared(folder)`: the data folder of a product that was started once, so that a start need not migrate again.

    Only where the database lies in that folder.
    """
    made = tmp_path_factory.mktemp("prepared")

    def copy(folder: Path) -> None:
        if connection.vendor != "sqlite" or folder.exists():
            return
        if not (made / "data").exists():
            product = Product(made / "data", clean_environ(made / "data"), made / "output").wait_ready()
            assert product.stop() == 0
        shutil.copytree(made / "data", folder)

    return copy


@pytest.fixture(scope="module")
def running(prepared: Callable[[Path], None], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    """One product for all tests of a file that leave it running."""
    folder = tmp_path_factory.mktemp("running")
    prepared(folder / "data")
    with own_database() as database:
        product = Product(folder / "data", clean_environ(folder / "data") | database, folder / "output")
        try:
            yield product.wait_ready()
        finally:
            product.kill_all()
            print(product.output)


@pytest.fixture
def start(
    environ: dict[str, str], prepared: Callable[[Path], None], tmp_path: Path
) -> Iterator[Callable[..., Product]]:
    """`start(PORT="x")`: a product, with these variables on top of the test's own. `fresh`: its very first start."""
    started: list[Product] = []

    def one(*, fresh: bool = False, **changes: str) -> Product:
        used = {**environ, **changes}
        if not fresh and "DEIDREVIEW_DATA" not in changes:
            prepared(Path(used["DEIDREVIEW_DATA"]))
        product = Product(Path(used["DEIDREVIEW_DATA"]), used, tmp_path / f"output-{len(started)}")
        started.append(product)
        return product

    yield one
    for product in started:
        product.kill_all()
        print(product.output)


@pytest.fixture
def manage(environ: dict[str, str]) -> Callable[..., subprocess.CompletedProcess[str]]:
    """`manage("backup", "file")`: a command on the product's data, beside it or without it."""

    def run(*words: str, **changes: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "manage.py", *words],
            cwd=ROOT,
            env={**environ, **changes},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run
