"""Convert a network's parameters to safetensors and back. The format holds only numbers."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from safetensors.numpy import load, save
from spacy.pipeline.ner import EntityRecognizer

from models_runtime.backends.base import BackendError

Tensors = dict[str, Any]


def parameters(ner: EntityRecognizer) -> Iterator[tuple[str, Any, str]]:
    """Each parameter's name in files, its node, and its name in the node, in a fixed order."""
    for at, node in enumerate(ner.model.walk()):
        for name in node.param_names:
            yield f"{at:03}.{node.name.split('>')[0]}.{name}", node, name


def numbers(ner: EntityRecognizer, values: Callable[[Any, str], Any] | None = None) -> Tensors:
    """Copies of all parameters, or of `values(node, name)` for each parameter."""
    take = values or (lambda node, name: node.get_param(name))
    return {key: np.array(take(node, name), dtype="float32") for key, node, name in parameters(ner)}


def put(ner: EntityRecognizer, tensors: Mapping[str, Any]) -> None:
    """Set all parameters. Raises ValueError unless names and shapes fit and all numbers are finite."""
    wanted = {key: (node, name) for key, node, name in parameters(ner)}
    if set(tensors) != set(wanted):
        raise ValueError("its weights don't belong to this network: their names differ")
    for key, (node, name) in wanted.items():
        value = tensors[key]
        if value.dtype != np.float32 or value.shape != node.get_param(name).shape or not np.isfinite(value).all():
            raise ValueError(f"its weights don't belong to this network: “{key}” doesn't fit")
        node.set_param(name, np.ascontiguousarray(value))


def continued(ner: EntityRecognizer, earlier: EntityRecognizer) -> None:
    """Copy the parameters of an earlier recognizer. Of its last layer, the rows of the transitions that both know."""
    number = {name: at for at, name in enumerate(transitions(ner))}
    rows = [(at, number[name]) for at, name in enumerate(transitions(earlier)) if name in number]
    origin, target = map(list, zip(*rows, strict=True))
    for (_, node, name), (_, other, _) in zip(parameters(ner), parameters(earlier), strict=True):
        value, known = node.get_param(name).copy(), other.get_param(name)
        if value.shape == known.shape:
            value[...] = known
        else:
            value[target] = known[origin]
        node.set_param(name, value)


def transitions(ner: EntityRecognizer) -> list[str]:
    """The names of the transitions, in the order of the rows of the last layer."""
    return [ner.moves.get_class_name(at) for at in range(ner.moves.n_moves)]


def to_bytes(tensors: Tensors, metadata: Mapping[str, str] | None = None) -> bytes:
    data: bytes = save(tensors, metadata=dict(metadata) if metadata else None)
    return data


def from_bytes(data: bytes) -> Tensors:
    """Read tensors. Raises BackendError (permanent) for a damaged file."""
    try:
        found: Tensors = load(data)
    except Exception as error:  # safetensors raises SafetensorError, KeyError and ValueError
        raise BackendError(f"The weights can't be read ({type(error).__name__}).", permanent=True) from None
    return found
