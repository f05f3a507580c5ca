"""The product itself: started by its run command, set up by its own commands, in a folder of its own."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from tests.bench.client import Browser

ROOT = Path(__file__).resolve().parent.parent.parent
# What a developer's shell says about the product must not decide what is measured.
OURS = ("DEIDREVIEW_", "DATABASE_URL", "REDIS_URL", "DJANGO_", "HOST", "PORT", "TZ")
FIRST_PAGE = "/accounts/login/"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Product:
    def __init__(self, data: Path, **environ: str) -> None:
        self.data = data
        self.port = free_port()
        clean = {name: value for name, value in os.environ.items() if not name.startswith(OURS)}
        own = {"DEIDREVIEW_DATA": str(data), "PORT": str(self.port), "DEIDREVIEW_DEMO": "0"}
        self.environ = clean | own | environ
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> float:
        """Seconds from the command to the first page, whole."""
        began = time.monotonic()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "deidreview.run"], cwd=ROOT, env=self.environ, stdout=subprocess.DEVNULL
        )
        while self.process.poll() is None:
            try:
                browser = self.browser()
                browser.get(FIRST_PAGE)
            except OSError:
                time.sleep(0.01)  # not even listening yet, or no answer for a minute on a machine that others use
                continue
            took = time.monotonic() - began
            browser.close()
            return took
        raise RuntimeError(f"the product ended while it started (exit status {self.process.returncode})")

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(60)
        self.process = None

    def browser(self) -> Browser:
        return Browser(self.port)

    def signed_in(self, username: str, password: str) -> Browser:
        browser = self.browser()
        browser.sign_in(username, password)
        return browser

    def manage(self, *words: object, stdin: str = "") -> dict[str, Any]:
        """A command with --json; its answer. Raises RuntimeError with the command's own words."""
        return dict(json.loads(self._run(["manage.py", *words, "--json"], stdin)))

    def timed(self, *words: object) -> tuple[float, float, dict[str, Any]]:
        """The same, with its seconds: of the command alone, and with the start of the interpreter and of Django."""
        began = time.monotonic()
        answer = json.loads(self._run(["-m", "tests.bench.timed", *words, "--json"]))
        return float(answer["seconds"]), time.monotonic() - began, dict(answer["answer"])

    def _run(self, words: list[object], stdin: str = "") -> str:
        command = [sys.executable, *map(str, words)]
        done = subprocess.run(command, cwd=ROOT, env=self.environ, input=stdin, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{words[1]} failed: {done.stderr.strip()}")
        return done.stdout
