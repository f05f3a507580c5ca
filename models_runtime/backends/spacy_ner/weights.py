"""A network's numbers by name, and back: safetensors, which can hold nothing else."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from safetensors.numpy import load, save
from spacy.pipeline.ner import EntityRecognizer

from models_runtime.backends.base import BackendError

Tensors = dict[str, Any]


def places(ner: EntityRecognizer) -> Iterator[tuple[str, Any, str]]:
    """Each parameter's name in files, with its node and its name there; the same order for the same network."""
    for at, node in enumerate(ner.model.walk()):
        for name in node.param_names:
            yield f"{at:03}.{node.name.split('>')[0]}.{name}", node, name


def numbers(ner: EntityRecognizer, values: Callable[[Any, str], Any] | None = None) -> Tensors:
    """Copies of all parameters, or of what `values(node, name)` gives for each."""
    take = values or (lambda node, name: node.get_param(name))
    return {key: np.array(take(node, name), dtype="float32") for key, node, name in places(ner)}


def put(ner: EntityRecognizer, tensors: Mapping[str, Any]) -> None:
    """Raises BackendError (permanent) unless these are the network's parameters, all of them, and finite."""
    wanted = {key: (node, name) for key, node, name in places(ner)}
    if set(tensors) != set(wanted):
        raise BackendError("the weights are not this network's: their names differ", permanent=True)
    for key, (node, name) in wanted.items():
        value = tensors[key]
        if value.dtype != np.float32 or value.shape != node.get_param(name).shape or not np.isfinite(value).all():
            raise BackendError(f"the weights are not this network's: {key} doesn't fit", permanent=True)
        node.set_param(name, np.ascontiguousarray(value))


def to_bytes(tensors: Tensors, said: Mapping[str, str] | None = None) -> bytes:
    data: bytes = save(tensors, metadata=dict(said) if said else None)
    return data


def from_bytes(data: bytes) -> Tensors:
    """Raises BackendError (permanent)."""
    try:
        found: Tensors = load(data)
    except Exception as error:  # it raises its own SafetensorError, KeyError and ValueError
        raise BackendError(f"the weights can't be read ({type(error).__name__})", permanent=True) from None
    return found
