"""The example in docs/examples runs against the running app: from notes to a trained model and an export."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import HANGS

pytestmark = [pytest.mark.product, pytest.mark.processes, pytest.mark.nightly]
SCRIPT = Path(__file__).parents[2] / "docs" / "examples" / "from_notes_to_model.py"
SCOPES = {"mia": "manage", "anna": "write", "bruno": "write"}
MAKE = f"""
from django.core.management import call_command
from annotations.models import User
for name, scope in {SCOPES}.items():
    User.objects.create_user(name, is_staff=name == "mia")
    call_command("create_token", name, "Example", "--scope", scope, "--days", "1")
"""


def test_from_notes_to_a_model_and_an_export(start, manage, tmp_path):
    product = start().wait_ready()
    made = manage("shell", "-v", "0", "-c", MAKE)
    tokens = re.findall(r"deid_[\w-]+", made.stdout)
    assert len(tokens) == len(SCOPES), made.stderr
    ended = subprocess.run(
        [sys.executable, SCRIPT, f"http://127.0.0.1:{product.port}", "anna", "bruno"],
        cwd=tmp_path, env=os.environ | {"DEIDREVIEW_TOKENS": " ".join(tokens)}, capture_output=True, text=True,
        timeout=HANGS, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert "Agreement on 20 notes" in ended.stdout and "held-out notes" in ended.stdout
    assert (tmp_path / "gold.zip").read_bytes()[:2] == b"PK"
    assert product.stop() == 0
