"""Progress bars: on a terminal only, and never on standard output."""

import os
import pty
import subprocess
import sys
from contextlib import suppress

import pytest

from tests.waiting import HANGS
from tests.worlds.product import ROOT

CODE = """
import sys
import django
django.setup()
from annotations.core.commands import progress_bar
with progress_bar("Deciding") as show:
    for done in range(4):
        show(done, 3)
print("rich" in sys.modules)
"""


@pytest.mark.parametrize("on_a_terminal", [True, False])
def test_a_bar_appears_only_on_a_terminal(on_a_terminal):
    ours, theirs = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-c", CODE], cwd=ROOT, stdout=subprocess.PIPE,
        stderr=theirs if on_a_terminal else subprocess.PIPE, text=True, timeout=HANGS, check=True,
        env={**os.environ, "TERM": "xterm"},
    )  # fmt: skip
    os.close(theirs)
    shown = ""
    if on_a_terminal:
        # A read returns one block at most, and raises OSError at the end.
        with suppress(OSError):
            while block := os.read(ours, 65536):
                shown += block.decode(errors="replace")
        assert "Deciding" in shown and "3/3" in shown
    else:
        assert done.stderr == ""
    os.close(ours)
    assert done.stdout == f"{on_a_terminal}\n"
