"""The web server's settings: `gunicorn -c python:deidreview.gunicorn deidreview.wsgi`.

Under `make run` the supervisor passes the listening socket; otherwise HOST and PORT say where to listen.
"""

import ctypes
import gc
import os
import shutil
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

from annotations.text.names import whole_number


def _number(name: str, default: int) -> int:
    value = os.environ.get(name, "") or str(default)
    found = whole_number(value)
    if not found:
        raise SystemExit(f"deidreview: {name}: “{value}” is not a whole number above 0.")
    return found


_COUNTS = "deidreview-metrics-"
_MEMORY = "/dev/shm"  # noqa: S108 - folders below have names that nobody can guess
# A heartbeat file, and the counts of requests, in memory, so that a busy disk never looks like a hanging worker.
worker_tmp_dir = _MEMORY if os.access(_MEMORY, os.W_OK) else None


def _count_together() -> str | None:
    """Make the folder in which all web processes count their requests (deidreview.metrics), and return its path.

    Return None if the environment names a folder. This must happen before prometheus_client is imported.
    """
    if os.environ.get("PROMETHEUS_MULTIPROC_DIR"):
        return None
    parent = Path(worker_tmp_dir or tempfile.gettempdir())
    for old in parent.glob(f"{_COUNTS}*"):
        if not Path("/proc", old.name.removeprefix(_COUNTS).partition("-")[0]).exists():
            shutil.rmtree(old, ignore_errors=True)  # Its server was killed.
    folder = tempfile.mkdtemp(prefix=f"{_COUNTS}{os.getpid()}-", dir=parent)
    os.environ["PROMETHEUS_MULTIPROC_DIR"] = folder
    return folder


_counts = _count_together()
_passed_socket = os.environ.get("DEIDREVIEW_LISTEN_FD")
bind = f"fd://{_passed_socket}" if _passed_socket else f"{os.environ.get('HOST', '127.0.0.1')}:{_number('PORT', 8000)}"

worker_class = "deidreview.web_worker.Worker"
workers = _number("DEIDREVIEW_WEB_PROCESSES", 2)
threads = _number("DEIDREVIEW_WEB_THREADS", 4)
# The app is loaded once and forked, so that the processes share the memory that they only read.
preload_app = True
timeout = 120
graceful_timeout = 10
keepalive = 30
umask = 0o077
control_socket_disable = True
loglevel = "warning"
if os.environ.get("DEIDREVIEW_LOG_FORMAT") == "json":
    # The settings say which values are valid, and have the filter and the format; this is gunicorn's own logger.
    logconfig_dict = {
        "root": {"handlers": [], "level": "WARNING"},
        "loggers": {"gunicorn.error": {"handlers": ["console"], "level": "WARNING", "propagate": False}},
        "filters": {"no_note_text": {"()": "deidreview.logs.NoNoteText"}},
        "formatters": {"json": {"()": "deidreview.logs.JsonFormatter"}},
        "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "json", "filters": ["no_note_text"]}},
    }
# No access log: the audit log says who read which note, and a URL can contain search words.
accesslog = None
FIRST_TEMPLATES = ("base.html", "account/login.html")


def load_pages() -> None:
    """Load the code of all pages and the templates of the first one, without access to database or static files."""
    from django.template import engines
    from django.urls import get_resolver

    from annotations.core.overview import load_parts

    load_parts()
    get_resolver().reverse_dict  # noqa: B018 - reading the property loads all URL patterns
    for engine in engines.all():
        for name in FIRST_TEMPLATES:
            engine.get_template(name)


def when_ready(server: Any) -> None:
    """Load the pages' code once for all processes, and freeze it for the garbage collector so that it stays shared."""
    from django.core.checks import run_checks
    from django.db import connections

    # Under `make run` the database step has printed these warnings.
    for found in [] if _passed_socket else run_checks(tags=["start"]):
        print(f"deidreview: {found.msg} {found.hint}", file=sys.stderr, flush=True)
    load_pages()
    # A connection must not cross a fork.
    connections.close_all()
    gc.collect()
    gc.freeze()
    gc.enable()


def post_fork(server: Any, worker: Any) -> None:
    """End the worker when its master dies, even by kill -9."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


def on_exit(server: Any) -> None:
    """Delete the counts of this server's processes."""
    if _counts:
        shutil.rmtree(_counts, ignore_errors=True)
