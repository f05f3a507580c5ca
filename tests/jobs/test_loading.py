"""The modules that a worker process imports before its first job, so that its work processes share them."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CODE = """
import gc, sys
import django
django.setup()
from annotations.jobs.registry import JOBS
from annotations.jobs.services.worker import _load_handlers
_load_handlers()
print(*[kind.handler for kind in JOBS.values() if kind.handler.rpartition(".")[0] not in sys.modules])
libraries = ("numpy", "spacy", "torch", "transformers", "openai", "ninja", "models_runtime.backends.llm.backend")
print(*[name for name in libraries if name in sys.modules])
print(gc.get_freeze_count() > 10_000)
"""


def test_a_worker_loads_every_handler_but_neither_models_nor_the_api():
    environ = {**os.environ, "DJANGO_SETTINGS_MODULE": "deidreview.settings", "DEIDREVIEW_SECRET_KEY": "k" * 50}
    done = subprocess.run([sys.executable, "-c", CODE], cwd=ROOT, env=environ, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["", "", "True"]
