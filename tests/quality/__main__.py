"""`python -m tests.quality`: what learned models are worth on MEDDOCAN, learned and scored inside the product.

They learn from train and read dev. With `--cv` they learn from four fifths of train and read the rest: that is what
anything is chosen by; dev is for the report alone. A table is printed, and all of it written to bench-results/.
"""

import argparse
import json
import random
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tests.bench.figures import Figure, table
from tests.bench.rules import MEDDOCAN, ROOT
from tests.quality.product import kinds_here, product
from tests.quality.regions import Region
from tests.quality.suite import RULES, Outcome, Reader, measure

PART: Final = "quality"
FOLDS: Final = 5
SEED: Final = "folds of train"
# What learns from nothing in an afternoon: a transformer of random weights would not.
KINDS: Final = ("crf", "spacy", "bilstm")
# Exact spans by subcategory, and of the narrative, which is what real notes are made of; masking by the union.
AIMS: Final = {"crf": 96.0, "spacy": 95.0, "bilstm": 95.5, "majority": 97.0, "weighted": 97.0, "learned": 97.0}
NARRATIVE: Final = 87.0
MASKED: Final = {"recall": 98.5, "precision": 98.0}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.quality", description=__doc__)
    parser.add_argument("--cv", type=int, metavar="N", help=f"cross-validate on train: so many of {FOLDS} folds")
    parser.add_argument("--kinds", default="", help=f"kinds of models, by comma; {', '.join(KINDS)} when left out")
    options = parser.parse_args()
    if not all((MEDDOCAN / part).is_dir() for part in ("train", "dev")):
        print("MEDDOCAN is not beside the repository: nothing is measured.")
        return 0
    train, folders = names("train"), [MEDDOCAN / "train"]
    if options.cv:
        rounds = [(rest, fold) for rest, fold in list(folds(train))[: options.cv]]
    else:
        rounds, folders = [(train, names("dev"))], [*folders, MEDDOCAN / "dev"]
    outcomes = []
    with product():
        kinds = options.kinds.split(",") if options.kinds else [kind for kind in kinds_here() if kind in KINDS]
        for at, (learned, read) in enumerate(rounds, 1):
            outcome = measure(f"quality-{at}", folders, learned, read, kinds)
            print(f"{outcome.train} notes of train learned, {outcome.held_out} read\n{grid(outcome)}\n", flush=True)
            outcomes.append(outcome)
    found = [] if options.cv else aims(outcomes[0])
    print(table(found) if found else "Nothing of dev was looked at.")
    _save(outcomes, found)
    return int(any(figure.met is False for figure in found))


def names(part: str) -> list[str]:
    """The notes of a part, by name."""
    return sorted(file.stem for file in (MEDDOCAN / part).glob("*.ann"))


def folds(train: Sequence[str]) -> list[tuple[list[str], list[str]]]:
    """What is learned and what is read, FOLDS times; always the same."""
    order = list(train)
    random.Random(SEED).shuffle(order)
    parts = [sorted(order[at::FOLDS]) for at in range(FOLDS)]
    return [(sorted(set(train) - set(part)), part) for part in parts]


def grid(outcome: Outcome) -> str:
    """A row for each reader: percent; learning and reading in seconds of wall clock."""
    head = ("", "P", "R", "F1", "category", "binary", *Region, "char R", "char P", "clean", "learn s", "read s")
    rows = [head, *(_row(reader) for reader in outcome.readers)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows)


def _row(reader: Reader) -> tuple[str, ...]:
    figures, levels = reader.figures, reader.figures["levels"]
    cells = [levels["subcategory"][key] for key in ("precision", "recall", "f1")]
    cells += [levels[granularity]["f1"] for granularity in ("category", "binary")]
    cells += [figures["regions"][region]["f1"] for region in Region]
    cells += [figures["characters"]["recall"], figures["characters"]["precision"], figures["nothing_left"]]
    times = [f"{seconds:.0f}" if seconds is not None else "" for seconds in (reader.learning, reader.reading)]
    return (reader.name, *(f"{100 * cell:.2f}" if cell is not None else "" for cell in cells), *times)


def aims(outcome: Outcome) -> list[Figure]:
    """The figures that have an aim."""
    found = []
    for reader in outcome.readers:
        if aim := AIMS.get(reader.name):
            f1 = reader.figures["levels"]["subcategory"]["f1"]
            found.append(
                Figure(PART, f"{reader.name}: exact spans, subcategory, F1", 100 * f1, "%", aim, at_least=True)
            )
        if reader.name in AIMS or reader.name == RULES:
            f1 = reader.figures["regions"][Region.NARRATIVE]["f1"]
            aim = NARRATIVE if reader.name in AIMS else None
            found.append(Figure(PART, f"{reader.name}: narrative, F1", 100 * (f1 or 0), "%", aim, at_least=True))
        if reader.name == "union":
            found += [
                Figure(
                    PART, f"union: characters, {key}", 100 * reader.figures["characters"][key], "%", aim, at_least=True
                )
                for key, aim in MASKED.items()
            ]
            found.append(Figure(PART, "union: notes with nothing left", 100 * reader.figures["nothing_left"], "%"))
    return found


def _save(outcomes: Sequence[Outcome], found: Sequence[Figure]) -> None:
    now = datetime.now(UTC)
    file = Path(ROOT, "bench-results", f"quality-{now:%Y%m%d-%H%M%S}.json")
    file.parent.mkdir(exist_ok=True)
    result = {
        "at": now.isoformat(),
        "outcomes": [outcome.as_dict() for outcome in outcomes],
        "figures": [figure.as_dict() for figure in found],
    }
    file.write_text(json.dumps(result, indent=1, ensure_ascii=False))
    print(f"Written to {file.relative_to(ROOT)}")


if __name__ == "__main__":
    sys.exit(main())
