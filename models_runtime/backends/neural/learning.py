"""One training loop for networks of torch: seeds, weights of classes, a schedule, checkpoints that go on exactly.

The optimiser, its schedule and the class weights are those of seed 003, section 6.
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
from safetensors.torch import save_file

from models_runtime.backends.neural.device import Device, too_little

IGNORED: Final = -100
"""The target of a piece that teaches nothing: the rest of a word, padding, what another window reads."""


@dataclass(frozen=True, slots=True)
class Plan:
    """`rate` rises for `warm_up` steps and falls to nothing in a straight line; gradients are cut at `clip`."""

    rate: float
    warm_up: int
    decay: float = 0.01
    clip: float = 1.0


def class_weights(counts: Mapping[int, int], number: int) -> Any:
    """wᵢ = Σf / (n·fᵢ) over the n classes that occur (003, section 6); a class that doesn't occur weighs 1."""
    there = {at: count for at, count in counts.items() if count}
    total = sum(there.values())
    return torch.tensor([total / (len(there) * there[at]) if at in there else 1.0 for at in range(number)])


def seeded(seed: int) -> None:
    """The same numbers every time, on a CPU to the last bit."""
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(True, warn_only=True)


Loss = Callable[[Sequence[int]], Any]
"""The loss of a batch of items, by their numbers, as a tensor that can be gone back from."""


class Loop:
    """Learns batch by batch. `network` is changed in place."""

    def __init__(self, network: Any, loss: Loss, plan: Plan, device: Device, *, steps: int) -> None:
        """`steps`: batches in all epochs. Where these are few, the rate rises for a tenth of them only."""
        self.network = network
        self._loss = loss
        self._plan = plan
        self._device = device
        warm = min(plan.warm_up, max(1, steps // 10))
        self._optimizer = torch.optim.AdamW(_groups(network, plan.decay), lr=plan.rate)
        self._schedule = torch.optim.lr_scheduler.LambdaLR(
            self._optimizer, lambda step: min((step + 1) / warm, max(0.0, (steps - step) / max(1, steps - warm)))
        )

    def epoch(self, batches: Sequence[Sequence[int]]) -> Iterator[float]:
        """Learn from the batches in the order given; gives each one's loss.

        Raises BackendError (permanent) where the GPU's memory can't hold one: other batches would learn another model.
        """
        self.network.train()
        for batch in batches:
            try:
                loss = self._step(batch)
            except torch.OutOfMemoryError:
                raise too_little() from None
            yield loss
        self.network.eval()

    def _step(self, batch: Sequence[int]) -> float:
        with self._device.precise():
            loss = self._loss(batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), self._plan.clip)
        self._optimizer.step()
        self._schedule.step()
        self._optimizer.zero_grad(set_to_none=True)
        return float(loss.detach())

    # ── Checkpoints: one safetensors file, what is no tensor as JSON in its header; no pickle ────────────────────────

    def save(self, path: Path, key: str, said: Any) -> None:
        """Write everything that the next epoch depends on, at once or not at all. `restore` hands `said` back."""
        state = self._optimizer.state_dict()
        tensors = {f"network.{name}": value for name, value in self.network.state_dict().items()}
        for number, values in state["state"].items():
            tensors |= {f"optimizer.{number}.{name}": value for name, value in values.items()}
        tensors["random.torch"] = torch.get_rng_state()
        if self._device.is_gpu:
            tensors["random.cuda"] = torch.cuda.get_rng_state()
        rest = {
            "key": key,
            "said": said,
            "step": self._schedule.last_epoch,
            "groups": state["param_groups"],
        }
        part = path.with_suffix(".part")
        plain = {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()}
        save_file(plain, part, metadata={"rest": json.dumps(rest)})
        part.replace(path)

    def restore(self, path: Path, key: str) -> Any:
        """Go back to what `save` wrote; returns its `said`. Raises ValueError for any other file."""
        try:
            with safe_open(path, "pt") as file:
                rest = json.loads(file.metadata()["rest"])
                if rest["key"] != key:
                    raise ValueError("this checkpoint is another lesson's")
                tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no mapping
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
    """Weights decay; biases and the scales of normalisation don't."""
    named = [(name, value) for name, value in network.named_parameters() if value.requires_grad]
    heavy = [value for name, value in named if value.ndim > 1]
    light = [value for name, value in named if value.ndim <= 1]
    return [{"params": heavy, "weight_decay": decay}, {"params": light, "weight_decay": 0.0}]
