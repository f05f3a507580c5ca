"""The CRF on MEDDOCAN: learned from train as the product trains, scored once on dev. Tuned on train alone."""

import json
import tempfile
import time
from pathlib import Path

from annotations.domain.labels import parse_label_set
from annotations.domain.scoring import Rates, Scorer
from annotations.domain.scoring.covering import covered_characters
from annotations.domain.scoring.rates import micro
from annotations.domain.spans import Span
from models_runtime.backends import children
from models_runtime.backends.base import Backend
from models_runtime.backends.crf import CrfBackend
from tests.bench.figures import Figure, table
from tests.bench.rules import MEDDOCAN, ROOT, meddocan
from tests.quality.regions import Region, inside, regions

PART = "crf"
KEY = "meddocan"
# The aim, for exact spans by subcategory; and for the narrative, which is what real notes are made of.
AIM, NARRATIVE_AIM = 96.0, 87.0


def report() -> int:
    """Train, score, print the table; 0 where the aims are met, or where there is no corpus to measure with."""
    train, dev = meddocan("train"), meddocan("dev")
    if not train or not dev:
        print("MEDDOCAN is not beside the repository: nothing is measured.")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path, began = Path(folder) / "model.zip", time.monotonic()
        children.train(
            "models_runtime.backends.crf.child",
            ((note.text, note.spans or []) for note in train),
            path,
            options={"label_set": KEY},
            unlabelled=_background(),
            told=lambda said: None,
        )
        took = time.monotonic() - began
        figures = _figures(CrfBackend(str(path)), [(note.text, note.spans or []) for note in dev])
    figures.append(Figure(PART, "training, wall clock", took, "s"))
    print(f"MEDDOCAN: {len(train)} notes of train learned, {len(dev)} notes of dev read\n{table(figures)}")
    return int(any(figure.met is False for figure in figures))


def _background() -> list[str]:
    """Further notes without annotations, where they are there."""
    files = sorted((MEDDOCAN / "background").glob("*.txt"))
    return [file.read_bytes().decode() for file in files]


def _figures(backend: Backend, notes: list[tuple[str, list[Span]]]) -> list[Figure]:
    shipped = json.loads((ROOT / "fixtures" / "label_sets" / f"{KEY}.json").read_text(encoding="utf-8"))
    category_of = {
        label.code: category.code for category in parse_label_set(shipped).categories for label in category.labels
    }
    whole, parts = Scorer(list(category_of), category_of), {}
    for region in Region:
        parts[region] = Scorer(list(category_of), category_of)
    characters, began = Rates(0, 0, 0, 0), time.process_time()
    found = backend.predict([text for text, _ in notes])
    speed = len(notes) / (time.process_time() - began)
    for (text, gold), said in zip(notes, found, strict=True):
        whole.add(text, gold, said)
        characters += covered_characters(gold, said)
        for region, place in regions(text).items():
            parts[region].add(text, inside(gold, place), inside(said, place))
    figures = []
    for level in whole.table().levels:
        if level.unit == "entity":
            aim = AIM if level.granularity == "subcategory" else None
            figures += _rates(f"exact spans, {level.granularity}", micro(level.classes.values()), aim)
    for region, scorer in parts.items():
        (finest, *_) = scorer.table().levels
        aim = NARRATIVE_AIM if region is Region.NARRATIVE else None
        figures += _rates(f"{region}, subcategory", micro(finest.classes.values()), aim)[-1:]
    figures += _rates("characters", characters, None)[:2]
    return [*figures, Figure(PART, "notes a second, one core", speed)]


def _rates(name: str, rates: Rates, aim: float | None) -> list[Figure]:
    return [
        Figure(PART, f"{name}: precision", 100 * (rates.precision or 0), "%"),
        Figure(PART, f"{name}: recall", 100 * (rates.recall or 0), "%"),
        Figure(PART, f"{name}: F1", 100 * (rates.f1 or 0), "%", aim, at_least=True),
    ]
