"""Continue a training from a model with other labels, words or inputs: one label space over both stages.

In the strategy EN-IT (Catelli 2021, section 3.3), the second stage starts from the weights of the first. Rows of what
both stages know are copied; what only the second stage knows begins with fresh weights.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

Rows = tuple[Sequence[int], Sequence[int]]
"""Row numbers in the earlier parameter, and the numbers of the same rows in the new one."""


def shared_rows(earlier: Sequence[str], new: Sequence[str]) -> Rows:
    """The rows of the names that both lists have. Row numbers are positions in the lists."""
    number = {name: at for at, name in enumerate(new)}
    both = [(at, number[name]) for at, name in enumerate(earlier) if name in number]
    return [at for at, _ in both], [at for _, at in both]


def copy_rows(earlier: Any, new: Any, rows: Rows) -> None:
    """Copy rows of one tensor to another in place. Columns beyond those of the earlier tensor stay as they are."""
    origin, target = (torch.tensor(numbers, dtype=torch.long) for numbers in rows)
    copied = new[target].clone()
    copied[(slice(None), *(slice(0, size) for size in earlier.shape[1:]))] = earlier[origin].to(new.dtype)
    new[target] = copied


def copy_network(earlier: Mapping[str, Any], network: Any, rows: Mapping[str, Rows]) -> None:
    """Copy all parameters of an earlier network; those named in `rows` by row, the others from their start.

    An input that the earlier network lacks, such as a language model, keeps its fresh columns.
    """
    state = network.state_dict()
    with torch.no_grad():
        for name, value in earlier.items():
            at = list(range(min(len(value), len(state[name]))))
            copy_rows(value, state[name], rows.get(name, (at, at)))


def copy_steps(earlier: Any, new: Any, rows: Rows) -> None:
    """Copy the scores [from, to] of the steps between tags that both stages know."""
    origin, target = (torch.tensor(numbers, dtype=torch.long) for numbers in rows)
    with torch.no_grad():
        new[target[:, None], target] = earlier[origin[:, None], origin]
