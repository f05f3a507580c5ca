"""Checkpoints of a training after an epoch: weights, optimizer state and reported steps in one safetensors file.

Random numbers and the order of the notes depend only on the epoch's number, so they are not saved.
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
    """Progress of a training: finished epochs, tokens seen, updates of each parameter, reported steps."""

    epochs: int = 0
    seen: int = 0
    updates: int = 0
    steps: list[Step] = field(default_factory=list)


def write(path: Path, key: str, ner: EntityRecognizer, optimizer: Optimizer, progress: Progress) -> None:
    """Write a checkpoint atomically: after a kill, the previous checkpoint is still there."""
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
    """Restore the checkpoint of the same task. Without one, or if it is damaged, the training starts again."""
    with suppress(OSError, BackendError, ValueError, TypeError, LookupError):
        data = path.read_bytes()
        metadata = _metadata(data)
        if metadata["key"] != key:
            return Progress()
        tensors = weights.from_bytes(data)
        parts: dict[str, dict[str, Any]] = {name: {} for name in PARTS}
        for full, value in tensors.items():
            name, _, parameter = full.partition("/")
            parts[name][parameter] = value
        kept = json.loads(metadata["progress"])
        progress = Progress(**kept | {"steps": [Step(**step) for step in kept["steps"]]})
        weights.put(ner, parts["weights"])
        for parameter, node, name in weights.parameters(ner):
            for memory, values in _dicts(optimizer).items():
                values[(node.id, name)] = parts[memory][parameter].copy()
            optimizer.nr_update[(node.id, name)] = progress.updates
        return progress
    return Progress()


def _metadata(data: bytes) -> dict[str, str]:
    """The metadata in a safetensors header: a length of eight bytes (little-endian), then JSON with `__metadata__`."""
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
