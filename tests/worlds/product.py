"""The product as `make run` starts it: real processes with their own data folder and database."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest
from django.db import connection

from tests.waiting import HANGS, ended, wait_for
from tests.worlds import warm

ROOT = Path(__file__).resolve().parents[2]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:  # It ended between the two questions.
        return False


class Product:
    """One `python -m deidreview.run`. Its output and errors go to one file, in the order of writing."""

    def __init__(self, data: Path, environ: dict[str, str], log: Path) -> None:
        self.data = data
        self.port = int(environ["PORT"]) if environ["PORT"].isdigit() else 0
        self._log = log
        self._seen: dict[int, psutil.Process] = {}
        with log.open("w") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "deidreview.run"], cwd=ROOT, env=environ, stdin=subprocess.DEVNULL,
                stdout=output, stderr=output, start_new_session=True,
            )  # fmt: skip

    @property
    def output(self) -> str:
        return self._log.read_text()

    def wait_ready(self) -> "Product":
        # A first start creates all tables without a word.
        wait_for(lambda: "deidreview is at" in self.output or self.process.poll() is not None, 180, "the first page",
                 lambda: self.output)  # fmt: skip
        assert self.process.poll() is None, self.output
        wait_for(lambda: {"relay", "work"} <= set(self.commands()), what="relay and worker", progress=self.commands)
        return self

    def get(self, path: str) -> tuple[int, str]:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=HANGS) as answer:
            return answer.status, answer.read().decode()

    def tree(self) -> list[psutil.Process]:
        """Return all descendant processes."""
        found = psutil.Process(self.process.pid).children(recursive=True)
        self._seen |= {process.pid: process for process in found}
        return found

    def commands(self) -> dict[str, psutil.Process]:
        """Return the processes by role: redis, loader and its children web, relay, work."""
        names = {}
        for child in psutil.Process(self.process.pid).children():
            with suppress(psutil.Error):
                names["redis" if "redis" in child.name() else "loader"] = child
        with suppress(psutil.Error, KeyError):
            below = {one.name(): one for one in names["loader"].children()}
            names |= {name.removeprefix("deid-"): one for name, one in below.items() if name.startswith("deid-")}
        return names

    def ask_to_stop(self, number: int = signal.SIGINT) -> None:
        self.tree()
        self.process.send_signal(number)

    def stop(self, number: int = signal.SIGINT) -> int:
        self.ask_to_stop(number)
        return ended(self.process, 40)

    def survivors(self) -> list[psutil.Process]:
        """Return the descendant processes that still run."""
        return [one for one in self._seen.values() if _lives(one)]

    def finish(self) -> tuple[int, str]:
        """Wait for a start that must fail. Return its exit status and output."""
        return ended(self.process), self.output.strip()

    def kill_all(self) -> None:
        if self.process.poll() is None:
            self.tree()
            self.process.kill()
            self.process.wait()
        for one in self.survivors():
            one.kill()


@contextmanager
def own_database(options: str = "") -> Iterator[dict[str, str]]:
    """Yield DATABASE_URL of a new PostgreSQL database, or no variable if the tests run on SQLite.

    `options` are those of CREATE DATABASE.
    """
    if connection.vendor != "postgresql":
        yield {}
        return
    import psycopg

    configured = connection.settings_dict
    name = f"ops_{uuid.uuid4().hex[:8]}"
    server = {key: configured[key.upper()] or None for key in ("host", "port", "user", "password")}
    server["dbname"] = "postgres"
    with psycopg.connect(**server, autocommit=True) as own:
        own.execute(f'CREATE DATABASE "{name}" {options}')
    yield {"DATABASE_URL": os.environ["DATABASE_URL"].rsplit("/", 1)[0] + f"/{name}"}
    with psycopg.connect(**server, autocommit=True) as own:
        own.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)')


def clean_environ(data: Path) -> dict[str, str]:
    """Return the environment variables for a product, without the settings of the developer's shell."""
    ours = ("DEIDREVIEW_", "PROMETHEUS_", "DATABASE_URL", "REDIS_URL", "DJANGO_", "HOST", "PORT")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return {**clean, "DEIDREVIEW_DATA": str(data), "DEIDREVIEW_DEMO": "0", "PORT": str(free_port())}


@pytest.fixture
def environ(tmp_path: Path) -> Iterator[dict[str, str]]:
    with own_database() as database:
        yield clean_environ(tmp_path / "data") | database


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], None]:
    """`prepared(folder)`: copy a data folder that `manage.py prepare` made once, so that a start need not migrate.

    It does nothing on PostgreSQL, where the database is not in the data folder.
    """
    made = tmp_path_factory.mktemp("prepared")

    def copy(folder: Path) -> None:
        if connection.vendor != "sqlite" or folder.exists():
            return
        if not (made / "data").exists():
            done = warm.run(["prepare"], clean_environ(made / "data"))
            assert done.returncode == 0, done.stderr
        shutil.copytree(made / "data", folder)

    return copy


@pytest.fixture(scope="session")
def running(prepared: Callable[[Path], None], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    """One product for all tests that don't stop it."""
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
    """`start(PORT="x")`: start a product with these variables. With `fresh=True` it is the first start ever."""
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
    """`manage("backup", "file")`: run a command on the product's data, whether or not the product runs."""

    return lambda *words, **changes: warm.run(words, {**environ, **changes})
