"""The start of the product on data that is there: from the command to the first page."""

from tests.bench.figures import Figure, over_rounds
from tests.bench.people import Bench

PART = "start"


def measure(bench: Bench) -> list[Figure]:
    times = []
    for _ in range(bench.rounds):
        bench.product.stop()
        times.append(bench.product.start())
    return [over_rounds(PART, "second start, to the first page", times, "s", aim=5)]
