"""The web server's settings: `gunicorn -c python:deidreview.gunicorn deidreview.wsgi`.

Under `make run` the supervisor hands the listening socket over; at full size HOST and PORT say where to listen.
"""

import ctypes
import gc
import os
import signal
import sys
from typing import Any


def _number(name: str, default: int) -> int:
    value = os.environ.get(name, "") or str(default)
    if not value.isdigit() or int(value) < 1:
        raise SystemExit(f"deidreview: {name}: {value!r} is not a whole number above 0")
    return int(value)


_handed_over = os.environ.get("DEIDREVIEW_LISTEN_FD")
bind = f"fd://{_handed_over}" if _handed_over else f"{os.environ.get('HOST', '127.0.0.1')}:{_number('PORT', 8000)}"

worker_class = "deidreview.web_worker.Worker"
workers = _number("DEIDREVIEW_WEB_PROCESSES", 2)
threads = _number("DEIDREVIEW_WEB_THREADS", 4)
# Loaded once and forked: the processes share what they only read.
preload_app = True
timeout = 120
graceful_timeout = 10
keepalive = 30
umask = 0o077
# A heartbeat file in memory, so that a busy disk never looks like a hanging worker.
worker_tmp_dir = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None  # noqa: S108
control_socket_disable = True
loglevel = "warning"
# No access log: the audit events say who read which note, and a URL can hold a search.
accesslog = None


def when_ready(server: Any) -> None:
    """Load the pages' code too, once for all processes. Out of the collector's way it stays shared between them."""
    from django.core.checks import run_checks
    from django.db import connections
    from django.urls import get_resolver

    # Under `make run` the step before has said so.
    for found in [] if _handed_over else run_checks(tags=["start"]):
        print(f"deidreview: {found.msg} {found.hint}", file=sys.stderr, flush=True)
    get_resolver()._populate()
    # A connection must not cross a fork.
    connections.close_all()
    gc.collect()
    gc.freeze()


def post_fork(server: Any, worker: Any) -> None:
    """A worker whose master was killed must not linger."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG
