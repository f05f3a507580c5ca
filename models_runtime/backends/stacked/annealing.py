"""Stochastic gradient descent whose learning rate falls when the loss no longer does (Catelli 2021, section 3.3.1)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch

from models_runtime.backends.neural.device import Device
from models_runtime.backends.neural.learning import Loop, Loss, Plan


@dataclass(frozen=True, slots=True)
class Annealing:
    """After `patience` successive epochs without a lower loss, `rate` is multiplied by `factor`.

    Training ends when the rate is smaller than `least`.
    """

    rate: float = 0.1
    least: float = 0.0001
    factor: float = 0.5
    patience: int = 3


def rate_after(losses: Iterable[float], plan: Annealing) -> float:
    """The learning rate after epochs with these losses."""
    rate, best, without = plan.rate, float("inf"), 0
    for loss in losses:
        best, without = (loss, 0) if loss < best else (best, without + 1)
        if without >= plan.patience:
            rate, without = rate * plan.factor, 0
    return rate


class SgdLoop(Loop):
    """Trains with plain SGD at a rate that is set before each epoch. Checkpoints are those of `Loop`."""

    def __init__(self, network: Any, loss: Loss, device: Device, *, rate: float, clip: float) -> None:
        super().__init__(network, loss, Plan(rate, warm_up=1, clip=clip), device, steps=1)
        self._share = 1.0
        self._rate = rate
        self._optimizer = torch.optim.SGD(network.parameters(), lr=rate)
        self._schedule = torch.optim.lr_scheduler.LambdaLR(self._optimizer, lambda step: self._share)

    def set_rate(self, rate: float) -> None:
        self._share = rate / self._rate
        for group in self._optimizer.param_groups:
            group["lr"] = self._rate * self._share
