"""The training loop of the torch backends: seeds, class weights, learning rate schedule, exact checkpoints.

Optimizer, schedule and class weights follow Salierno et al. 2024, section 6.
"""

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load, save, save_file

from models_runtime.backends.neural.device import Device, gpu_memory_full

IGNORED: Final = -100
"""The target of pieces that don't count in the loss: later pieces of a word, padding, pieces of other windows."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Learning rate `rate` after a linear rise over `warm_up` steps, then a linear fall to 0. `clip`: gradient norm."""

    rate: float
    warm_up: int
    decay: float = 0.01
    clip: float = 1.0


def class_weights(counts: Mapping[int, int], number: int) -> Any:
    """wᵢ = Σf / (n·fᵢ) over the n classes that occur (Salierno et al. 2024, section 6); 1 for other classes."""
    present = {at: count for at, count in counts.items() if count}
    total = sum(present.values())
    return torch.tensor([total / (len(present) * present[at]) if at in present else 1.0 for at in range(number)])


def seeded(seed: int) -> None:
    """Seed all random generators, so that a training on a CPU is exactly repeatable."""
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(True, warn_only=True)


Loss = Callable[[Sequence[int]], Any]
"""The loss of a batch, given the indexes of its items, as a tensor with a gradient."""


class Loop:
    """Trains a network batch by batch, in place."""

    def __init__(
        self,
        network: Any,
        loss: Loss,
        plan: Plan,
        device: Device,
        *,
        steps: int,
        parts: int = 1,
        weigh: Callable[[Sequence[int]], float] = len,
    ) -> None:
        """`steps`: number of batches in all epochs. The warm-up takes at most a tenth of them.

        `parts`: each batch is computed in up to this many parts, whose gradients are accumulated. `weigh`: the weight
        of some items in the mean loss of a batch, so that the parts together give the gradient of the whole batch.
        """
        self.network = network
        self._loss = loss
        self._plan = plan
        self._device = device
        self._parts = parts
        self._weigh = weigh
        warm = min(plan.warm_up, max(1, steps // 10))
        self._optimizer = torch.optim.AdamW(_groups(network, plan.decay), lr=plan.rate)
        self._schedule = torch.optim.lr_scheduler.LambdaLR(
            self._optimizer, lambda step: min((step + 1) / warm, max(0.0, (steps - step) / max(1, steps - warm)))
        )

    def epoch(self, batches: Sequence[Sequence[int]]) -> Iterator[float]:
        """Train on these batches in this order; yields the loss of each.

        Raises BackendError (permanent) if the GPU memory is too small for a batch: smaller batches would give another
        model.
        """
        self.network.train()
        for batch in batches:
            try:
                loss = self._step(batch)
            except torch.OutOfMemoryError:
                raise gpu_memory_full() from None
            yield loss
        self.network.eval()

    def _step(self, batch: Sequence[int]) -> float:
        size = -(-len(batch) // self._parts)
        parts = [batch[at : at + size] for at in range(0, len(batch), size)]
        weights = [self._weigh(part) for part in parts] if len(parts) > 1 else [1.0]
        total = 0.0
        for part, weight in zip(parts, weights, strict=True):
            with self._device.precision():
                loss = self._loss(part) * (weight / sum(weights))
            loss.backward()
            total += float(loss.detach())
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), self._plan.clip)
        self._optimizer.step()
        self._schedule.step()
        self._optimizer.zero_grad(set_to_none=True)
        return total

    def weights(self) -> bytes:
        """The network's weights as safetensors, for `put_weights`."""
        state = self.network.state_dict().items()
        return bytes(save({name: value.detach().cpu().contiguous().clone() for name, value in state}))

    def put_weights(self, content: bytes) -> None:
        """Set the network's weights to those that `weights` returned."""
        self.network.load_state_dict(load(content))

    # ── Checkpoints: one safetensors file with JSON in its header, no pickle ─────────────────────────────────────────

    def save(self, path: Path, key: str, extra: Any) -> None:
        """Write everything that the next epoch depends on, atomically. `restore` returns `extra`."""
        state = self._optimizer.state_dict()
        tensors = {f"network.{name}": value for name, value in self.network.state_dict().items()}
        for number, values in state["state"].items():
            tensors |= {f"optimizer.{number}.{name}": value for name, value in values.items()}
        tensors["random.torch"] = torch.get_rng_state()
        if self._device.is_gpu:
            tensors["random.cuda"] = torch.cuda.get_rng_state()
        rest = {"key": key, "said": extra, "step": self._schedule.last_epoch, "groups": state["param_groups"]}
        part = path.with_suffix(".part")
        plain = {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()}
        save_file(plain, part, metadata={"rest": json.dumps(rest)})
        part.replace(path)

    def restore(self, path: Path, key: str) -> Any:
        """Restore the state that `save` wrote and return its `extra`. Raises ValueError for any other file."""
        try:
            with safe_open(path, "pt") as file:
                rest = json.loads(file.metadata()["rest"])
                if rest["key"] != key:
                    raise ValueError("this checkpoint belongs to another task")
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
            self.network.load_state_dict(_part(tensors, "network."))
            values: dict[int, dict[str, Any]] = {}
            for name, value in _part(tensors, "optimizer.").items():
                number, _, key = name.partition(".")
                values.setdefault(int(number), {})[key] = value
            self._optimizer.load_state_dict({"state": values, "param_groups": rest["groups"]})
            self._schedule.last_epoch = rest["step"]
            torch.set_rng_state(tensors["random.torch"])
            if self._device.is_gpu:
                torch.cuda.set_rng_state(tensors["random.cuda"])
        except (OSError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
            raise ValueError(f"this checkpoint can't be used ({type(error).__name__})") from None
        return rest["said"]


def _part(tensors: Mapping[str, Any], prefix: str) -> dict[str, Any]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def _groups(network: Any, decay: float) -> list[dict[str, Any]]:
    """Parameter groups: weight decay for matrices, none for biases and normalization scales."""
    named = [(name, value) for name, value in network.named_parameters() if value.requires_grad]
    heavy = [value for name, value in named if value.ndim > 1]
    light = [value for name, value in named if value.ndim <= 1]
    return [{"params": heavy, "weight_decay": decay}, {"params": light, "weight_decay": 0.0}]


# Continue a training from a model with other labels, words or inputs: one label space over both stages.
#
# In the strategy EN-IT (Catelli 2021, section 3.3), the second stage starts from the weights of the first. Rows of what
# both stages know are copied; what only the second stage knows begins with fresh weights.


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
