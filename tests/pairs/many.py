"""Pair many invented decisions by the command, in a database of its own, and print what docs/pairs.md tells of it.

`python -m tests.pairs.many 100000 --tokens 400`. Words are drawn from 20,000 invented ones by Zipf's law, so that
decisions resemble each other less than those of `decisions`.
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from itertools import accumulate
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from tests.pairs.decisions import invented

BATCH = 1000


def vocabulary(size: int = 20_000) -> list[str]:
    """Words by their frequency: the list has common words often, so that drawing from it follows Zipf's law."""
    chance = random.Random(5)
    syllables = [first + second for first in "bcdfglmnprstvz" for second in "aeiou"]
    words = ["".join(chance.choices(syllables, k=chance.randint(2, 5))) for _ in range(size)]
    weights = list(accumulate(1 / rank for rank in range(1, size + 1)))
    return chance.choices(words, cum_weights=weights, k=1_000_000)


def write(path: Path, pairs: int, tokens: int) -> None:
    words = vocabulary()
    schema = pa.schema([("id", pa.int64()), ("file_name", pa.string()), ("text", pa.string())])
    with pyarrow.parquet.ParquetWriter(path, schema) as writer:
        for first in range(0, pairs, BATCH):
            rows = []
            for number in range(first, min(first + BATCH, pairs)):
                one = invented(number, tokens=tokens, words=words)
                rows += [
                    (2 * number, f"clear-{number}", one.clear),
                    (2 * number + 1, f"published-{number}", one.published),
                ]
            columns = [list(column) for column in zip(*rows, strict=True)]
            writer.write_table(pa.table(columns, schema=schema))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.pairs.many", description=__doc__)
    parser.add_argument("pairs", type=int)
    parser.add_argument("--tokens", type=int, default=400)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        pile = Path(folder, "pile.parquet")
        write(pile, options.pairs, options.tokens)
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("DEIDREVIEW", "DATABASE"))}
        own = clean | {"DEIDREVIEW_DATA": str(Path(folder, "data"))}
        manage = [sys.executable, "manage.py"]
        subprocess.run([*manage, "prepare"], env=own, check=True, stdout=subprocess.DEVNULL)
        create = ["create_project", "Court", "--labels", "omissis", "--language", "it", "--slug", "court"]
        subprocess.run([*manage, *create], env=own, check=True, stdout=subprocess.DEVNULL)
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        told = subprocess.check_output([*manage, "pair_published", "court", str(pile), "--json"], env=own)
        after, seconds = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - began
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    figures = json.loads(told)
    print(
        json.dumps(figures | {"seconds": round(seconds, 1), "processor": round(used, 1), "mib": after.ru_maxrss >> 10})
    )
    print(f"{figures['pairs'] / used:.0f} pairs per second of processor time")


if __name__ == "__main__":
    main()
