"""Where a training stands after an epoch: weights, the optimizer's memory, what was reported. One safetensors file.

Random numbers and the order of the notes depend on the epoch's number alone, so nothing of them needs keeping.
"""

import json
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from spacy.pipeline.ner import EntityRecognizer
from thinc.api import Optimizer

from models_runtime.backends.base import BackendError
from models_runtime.backends.learner import Step
from models_runtime.backends.spacy_ner import weights


@dataclass
class Progress:
    """`epochs` are done, `seen` tokens learned from, each of the optimizer's parameters updated `updates` times."""

    epochs: int = 0
    seen: int = 0
    updates: int = 0
    steps: list[Step] = field(default_factory=list)


def write(path: Path, key: str, ner: EntityRecognizer, optimizer: Optimizer, progress: Progress) -> None:
    """Whole or not at all: a kill in the middle leaves the one before."""
    tensors = {
        f"{part}/{at}": value for part, values in _memory(ner, optimizer).items() for at, value in values.items()
    }
    data = weights.to_bytes(tensors, {"key": key, "progress": json.dumps(asdict(progress))})
    part = path.with_suffix(".part")
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    part.replace(path)


def read(path: Path, key: str, ner: EntityRecognizer, optimizer: Optimizer) -> Progress:
    """Take up what `write` left of this very lesson; without it, or where it is damaged, a fresh start."""
    with suppress(OSError, BackendError, ValueError, TypeError, LookupError):
        data = path.read_bytes()
        said = _metadata(data)
        if said["key"] != key:
            return Progress()
        tensors = weights.from_bytes(data)
        parts: dict[str, dict[str, Any]] = {name: {} for name in PARTS}
        for full, value in tensors.items():
            name, _, place = full.partition("/")
            parts[name][place] = value
        kept = json.loads(said["progress"])
        progress = Progress(**kept | {"steps": [Step(**step) for step in kept["steps"]]})
        weights.put(ner, parts["weights"])
        for place, node, name in weights.places(ner):
            for memory, values in _dicts(optimizer).items():
                values[(node.id, name)] = parts[memory][place].copy()
            optimizer.nr_update[(node.id, name)] = progress.updates
        return progress
    return Progress()


def _metadata(data: bytes) -> dict[str, str]:
    """safetensors: eight bytes of length, little-endian, then a JSON header with our words under `__metadata__`."""
    found: dict[str, str] = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])["__metadata__"]
    return found


PARTS: Final = ("weights", "mom1", "mom2", "averages")


def _dicts(optimizer: Optimizer) -> dict[str, dict[Any, Any]]:
    assert optimizer.averages is not None
    return {"mom1": optimizer.mom1, "mom2": optimizer.mom2, "averages": optimizer.averages}


def _memory(ner: EntityRecognizer, optimizer: Optimizer) -> dict[str, weights.Tensors]:
    def of(values: dict[Any, Any]) -> Callable[[Any, str], Any]:
        return lambda node, name: values[(node.id, name)]

    parts = {memory: weights.numbers(ner, of(values)) for memory, values in _dicts(optimizer).items()}
    return {"weights": weights.numbers(ner)} | parts
