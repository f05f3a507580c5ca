"""One measurement: every kind of model learns inside the product and reads the notes held out; then they vote."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.quality.measuring import measured
from tests.quality.product import categories, command, gold_of, held_out_notes, without_background

RULES: Final = "rules"
ENSEMBLE: Final = "ensemble"
# The majority of the learned models alone, without the rules.
LEARNED: Final = "learned"
# F1 of exact spans on held-out notes of train: a model's card would give its score on the notes that are read here.
WEIGHTS: Final = {"rules": 0.947, "crf": 0.958, "spacy": 0.94}
LIGHTEST: Final = 0.9


@dataclass
class Reader:
    """Whoever read the notes held out: what it is worth, how long it learned and read (seconds, wall clock)."""

    name: str
    figures: dict[str, Any]
    reading: float
    learning: float | None = None

    def as_dict(self) -> dict[str, Any]:
        return {"reader": self.name, "learning_s": self.learning, "reading_s": self.reading, **self.figures}


@dataclass
class Outcome:
    """All readers of one measurement, and what it was made on."""

    train: int
    held_out: int
    readers: list[Reader] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        return {
            "train": self.train,
            "held_out": self.held_out,
            "readers": [reader.as_dict() for reader in self.readers],
        }


def measure(
    project: str, texts: Sequence[Path], train: Sequence[str], held_out: Sequence[str], kinds: Sequence[str]
) -> Outcome:
    """Learn from `train` and read `held_out`, names of notes in the folders `texts`, in a project of its own."""
    outcome = Outcome(len(train), len(held_out))
    gold_of(project, texts, train, held_out)
    learned = {kind: command("train_model", project, "--gold", "1", *_kind(kind), "--wait") for kind in kinds}
    without_background(project)
    outcome.readers.append(_read(project, RULES, RULES))
    for kind, model in learned.items():
        reader = _read(project, kind, model["model"])
        reader.learning = model["seconds"]
        outcome.readers.append(reader)
    voters = [reader.name for reader in outcome.readers]
    asked = _members(voters)
    weights = ",".join(str(WEIGHTS.get(name, LIGHTEST)) for name in voters)
    for method in ("majority", "weighted", "union", "intersection"):
        words = [*asked, "--method", method, *(("--weights", weights) if method == "weighted" else ())]
        outcome.readers.append(_read(project, method, *words))
    if len(learned) > 2:  # of two no majority comes but what both say
        outcome.readers.append(_read(project, LEARNED, *_members(learned), "--method", "majority"))
    return outcome


def _members(names: Iterable[str]) -> list[str]:
    return [ENSEMBLE, "--members", ",".join(f"run:{name}" for name in names)]


def _kind(kind: str) -> list[str]:
    """The words that ask for a kind's default algorithm."""
    from models_runtime.core.registry import trainable_kind

    return ["--algorithm", next(iter(trainable_kind(kind).algorithms))]


def _read(project: str, name: str, *words: str) -> Reader:
    run = command("run_model", project, *words, "--name", name, "--wait")
    if run["failed"] or run["pending"]:
        raise RuntimeError(f"the run {name} did not read every note: {run}")
    return Reader(name, measured(held_out_notes(project, name), categories(project)), round(run["seconds"], 1))
