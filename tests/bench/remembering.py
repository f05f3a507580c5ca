"""Memory of every process of the product, at rest after all the work of the other parts."""

import time

from tests.bench.figures import Figure
from tests.bench.machine import command_line, memory, tree
from tests.bench.people import Bench

PART = "memory"
AT_REST_SECONDS = 3.0
# By a word of the command line; what is not named here is not expected.
NAMES = {
    "deidreview.run": "supervisor",
    "redis-server": "Redis",
    "gunicorn": "web",
    "manage relay": "relay",
    "manage work": "worker",
}
SUMMED = ("web", "relay", "Redis", "worker")


def measure(bench: Bench) -> list[Figure]:
    assert bench.product.process is not None  # it runs while parts are measured
    time.sleep(AT_REST_SECONDS)
    found: dict[str, list[int]] = {}
    for pid in tree(bench.product.process.pid):
        line = command_line(pid)
        name = next((name for word, name in NAMES.items() if word in line), line[:30])
        found.setdefault(name, []).append(pid)
    figures, rss, pss = [], 0.0, 0.0
    for name, pids in found.items():
        each = [memory(pid) for pid in pids]
        title = name if len(each) == 1 else f"{name}, {len(each)} processes"
        figures.append(Figure(PART, f"{title}, RSS", sum(one.rss for one in each), "MiB"))
        figures.append(Figure(PART, f"{title}, PSS", sum(one.pss for one in each), "MiB"))
        if name in SUMMED:
            rss, pss = rss + sum(one.rss for one in each), pss + sum(one.pss for one in each)
    together = "web, relay, Redis and idle worker"
    # RSS counts what processes share as often as there are processes; PSS once, and is what the machine gives.
    return [
        *figures,
        Figure(PART, f"{together}, RSS", rss, "MiB"),
        Figure(PART, f"{together}, PSS", pss, "MiB", aim=300),
    ]
