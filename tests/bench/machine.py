"""What the machine is, what else it does meanwhile, and how fast its disk commits."""

import contextlib
import os
import sqlite3
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

TICK = os.sysconf("SC_CLK_TCK")
MIB = 1024 * 1024


def describe() -> dict[str, object]:
    model = next(
        (line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")), "unknown"
    )
    return {"cores": os.cpu_count(), "processor": model, "load": os.getloadavg()[0]}


def _lines(path: str) -> list[str]:
    with contextlib.suppress(OSError):
        return Path(path).read_text().splitlines()
    return []


# ── Processes ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _stat(pid: int) -> list[str]:
    """/proc/PID/stat after the name: state, ppid, …; empty when it is gone."""
    text = "".join(_lines(f"/proc/{pid}/stat"))
    return text.rpartition(")")[2].split()


def tree(pid: int) -> list[int]:
    """The process and all below it."""
    parents = {int(entry.name): _stat(int(entry.name)) for entry in Path("/proc").iterdir() if entry.name.isdigit()}
    found = [pid]
    for at in found:
        found += [child for child, stat in parents.items() if stat and int(stat[1]) == at]
    return found


def command_line(pid: int) -> str:
    return "".join(_lines(f"/proc/{pid}/cmdline")).replace("\0", " ").strip()


def environment(pid: int) -> dict[str, str]:
    """What a process was started with."""
    words = Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
    return dict(word.split("=", 1) for word in words if "=" in word)


@dataclass(frozen=True)
class Memory:
    """MiB. `pss` counts a page that n processes share as 1/n in each, so that it may be summed.

    `own` is the part of it that no file backs: the database is mapped, too, and given back where room is needed.
    """

    rss: float
    pss: float
    own: float


def memory(pid: int) -> Memory:
    fields = dict(line.split()[:2] for line in _lines(f"/proc/{pid}/smaps_rollup")[1:])
    rss, pss, own = (int(fields.get(name, 0)) / 1024 for name in ("Rss:", "Pss:", "Pss_Anon:"))
    return Memory(rss, pss, own)


# ── What else the machine did ────────────────────────────────────────────────────────────────────────────────────────


def _busy() -> float:
    """Seconds of processor time that anybody used, other guests of the host (steal) included."""
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, _lines("/proc/stat")[0].split()[1:9])
    return (user + nice + system + irq + softirq + steal) / TICK


def _used(pids: Iterable[int]) -> float:
    """Seconds of processor time of these processes and of their ended children."""
    return sum(sum(map(int, stat[11:15])) for pid in pids if (stat := _stat(pid))) / TICK


class Others:
    """The share of the machine that others took while a block ran: above a few percent, figures are noisy."""

    def __init__(self) -> None:
        self.share = 0.0

    @contextlib.contextmanager
    def watch(self, root: int) -> Iterator[None]:
        began, busy, used = time.monotonic(), _busy(), _used(tree(root))
        yield
        seconds = max(time.monotonic() - began, 0.1) * (os.cpu_count() or 1)
        self.share = max(0.0, _busy() - busy - (_used(tree(root)) - used)) / seconds


def wait_for_calm(root: int, share: float, deadline: float) -> None:
    """Until others leave the machine alone for two seconds, or until the deadline (monotonic seconds)."""
    while time.monotonic() < deadline:
        others = Others()
        with others.watch(root):
            time.sleep(2)
        if others.share < share:
            return


# ── The disk ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def commit_times(folder: Path, count: int = 200) -> list[float]:
    """Milliseconds of `count` commits of one small row each, as the product's database makes them: SQLite, WAL,
    synchronous=FULL, in a new file in the same folder."""
    file = folder / f"commit-{os.getpid()}.sqlite3"
    times = []
    with contextlib.closing(sqlite3.connect(file, isolation_level=None)) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("PRAGMA synchronous=FULL")
        database.execute("CREATE TABLE entry (id INTEGER PRIMARY KEY, content TEXT)")
        for number in range(count):
            began = time.perf_counter()
            database.execute("BEGIN IMMEDIATE")
            database.execute("INSERT INTO entry (content) VALUES (?)", (f"{number:200}",))
            database.execute("COMMIT")
            times.append((time.perf_counter() - began) * 1000)
    for left in folder.glob(f"{file.name}*"):
        left.unlink()
    return times
