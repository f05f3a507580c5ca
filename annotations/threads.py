"""How many threads a library may start in one process: the cores of this process, divided among the workers on them.

OpenMP (PyTorch), BLAS (NumPy), BLIS (spaCy) and Rayon (tokenizers) start one thread per core of the machine by default.
Several such processes on the same cores, or one in a container that may use only some of them, then wait for each other
and use many times the processor time.
"""

import math
import os
from collections.abc import MutableMapping
from contextlib import suppress
from pathlib import Path
from typing import Final

VARIABLES: Final = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS",
)  # fmt: skip
"""The variables from which the libraries take their number of threads, when they are loaded."""


def limit_threads(environ: MutableMapping[str, str], threads: int) -> None:
    """Set the number of threads for libraries that are loaded later. A variable that is set already is kept."""
    for name in VARIABLES:
        environ.setdefault(name, str(threads))


def threads_for(workers: int, root: Path = Path("/")) -> int:
    """Threads of each of `workers` processes that compute on the cores of this one, at least 1."""
    return max(1, cores(root) // max(1, workers))


def cores(root: Path = Path("/")) -> int:
    """The number of cores that this process may use: those of its affinity, at most those that its cgroup pays for.

    The limits of the cgroup and of those around it are in `cpu.max` files under `root` (Linux, cgroup version 2). Part
    of a core counts as one.
    """
    usable = len(os.sched_getaffinity(0))
    with suppress(OSError, ValueError, StopIteration):
        lines = (root / "proc/self/cgroup").read_text().splitlines()
        own = next(line.removeprefix("0::/") for line in lines if line.startswith("0::/"))
        mounted = root / "sys/fs/cgroup"
        for folder in (mounted, *((mounted / part) for part in _outwards(own))):
            with suppress(OSError, ValueError):
                quota, period = (folder / "cpu.max").read_text().split()
                usable = min(usable, max(1, math.ceil(int(quota) / int(period))))
    return usable


def _outwards(path: str) -> list[str]:
    """The folders of a relative path, the whole path first. A cgroup outside the mounted tree has none."""
    parts = [part for part in path.split("/") if part]
    return [] if ".." in parts else ["/".join(parts[:end]) for end in range(len(parts), 0, -1)]
