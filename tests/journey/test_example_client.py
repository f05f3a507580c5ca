"""The example in docs/examples runs against the running app: from notes to a trained model and an export."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import HANGS

pytestmark = [pytest.mark.product, pytest.mark.processes]
SCRIPT = Path(__file__).parents[2] / "docs" / "examples" / "from_notes_to_model.py"


def test_from_notes_to_a_model_and_an_export(start, manage, tmp_path):
    product = start(fresh=True, DEIDREVIEW_DEMO="1").wait_ready()
    scopes = {"manager": "manage", "anna": "write", "bruno": "write"}
    made = [manage("create_token", name, "Example", "--scope", scope, "--days", "1") for name, scope in scopes.items()]
    found = [re.search(r"deid_[\w-]+", one.stdout) for one in made]
    assert all(found), [one.stderr for one in made]
    tokens = " ".join(one[0] for one in found if one)
    ended = subprocess.run(
        [sys.executable, SCRIPT, f"http://127.0.0.1:{product.port}", "anna", "bruno"],
        cwd=tmp_path, env=os.environ | {"DEIDREVIEW_TOKENS": tokens}, capture_output=True, text=True, timeout=HANGS,
        check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert "Agreement on 20 notes" in ended.stdout and "held-out notes" in ended.stdout
    assert (tmp_path / "gold.zip").read_bytes()[:2] == b"PK"
    assert product.stop() == 0
