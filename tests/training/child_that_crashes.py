"""A learner that crashes when it opens a file, as a library's C code can."""

import os
import signal
from pathlib import Path
from typing import Any


class Learner:
    def check(self, path: Path) -> dict[str, Any]:
        os.kill(os.getpid(), signal.SIGSEGV)
        return {}


LEARNER = Learner()
