"""Weights from a folder: its name in messages, and checks before a network is built from a file of others."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

import torch

from models_runtime.backends.base import BackendError

# Layers of an LSTM or a transformer.
MOST_LAYERS: Final = 100
# Numbers that a network computes when it is built, such as positions, in all its buffers.
MOST_COMPUTED: Final = 1 << 22


def name_of(folder: Path) -> str:
    """The folder's name; for a snapshot of the Hugging Face Hub's client, the name of the repository."""
    return folder.parents[1].name.rpartition("--")[2] if folder.parent.name == "snapshots" else folder.name


def check_fit(planned: Any, tensors: Mapping[str, Any]) -> None:
    """Raise ValueError if a file's tensors aren't those of a network, or if numbers in them are not finite.

    `planned`: the network on torch's device `meta`, where it takes no memory. So a small file can't ask for a large
    network: names and shapes must be equal, and no tensor may be empty.
    """
    shapes = {name: tuple(values.shape) for name, values in planned.state_dict().items()}
    if shapes != {name: tuple(values.shape) for name, values in tensors.items()}:
        raise ValueError("other tensors")
    if not all(values.numel() for values in tensors.values()):
        raise ValueError("an empty tensor")
    if sum(values.numel() for values in planned.buffers()) > MOST_COMPUTED:
        raise ValueError("too many computed numbers")
    if not all(bool(torch.isfinite(values).all()) for values in tensors.values()):
        raise ValueError("a number that is not finite")


def check_scores(finite: Iterable[bool]) -> None:
    """Raise BackendError (permanent) if the scores of some text are not finite. `finite`: whether they are."""
    if not all(finite):
        raise BackendError(
            "Some of the text has no scores, because the weights are damaged. Copy the model's folder again.",
            permanent=True,
        )
