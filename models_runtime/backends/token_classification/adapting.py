"""Before any label: the network learns the language of the notes by filling gaps in them (masked-LM, 003 section 5).

Of the pieces 15 % are chosen; of those 80 % are masked, 10 % replaced by another, 10 % left (Devlin et al., 2019).
"""

import random
from collections.abc import Sequence
from typing import Any, Final

import torch

from models_runtime.backends.neural.device import Device, Seat
from models_runtime.backends.neural.learning import IGNORED, Loop, Plan
from models_runtime.backends.neural.windows import Window, batches
from models_runtime.backends.token_classification.encoding import Encoded
from models_runtime.backends.token_classification.reading import Reader

SHARE: Final = 0.15
MASKED: Final = 0.8
SWAPPED: Final = 0.1


class Gaps:
    """Makes gaps in batches of pieces. `around`: how many special pieces stand before and after each window."""

    def __init__(self, mask: int, vocabulary: int, around: tuple[int, int]) -> None:
        self._mask = mask
        self._vocabulary = vocabulary
        self._before, self._after = around

    def __call__(self, ids: Any, there: Any) -> tuple[Any, Any]:
        """Pieces [windows, pieces] with gaps, and what stood there: IGNORED where nothing is asked."""
        lengths = there.sum(dim=1, keepdim=True)
        at = torch.arange(ids.shape[1], device=ids.device)
        may = (at >= self._before) & (at < lengths - self._after)
        chosen = (torch.rand(ids.shape).to(ids.device) < SHARE) & may
        chosen[:, self._before] |= ~chosen.any(dim=1)  # something is always asked
        right = torch.where(chosen, ids, IGNORED)
        dice = torch.rand(ids.shape).to(ids.device)
        other = torch.randint(self._vocabulary, ids.shape).to(ids.device)
        shown = torch.where(chosen & (dice < MASKED), self._mask, ids)
        shown = torch.where(chosen & (dice >= 1 - SWAPPED), other, shown)
        return shown, right


class Adapting:
    """The network while it fills gaps. `rate`, `warm_up` and `batch` (in pieces) as in the training that follows."""

    def __init__(
        self,
        network: Any,
        reader: Reader,
        texts: Sequence[Encoded],
        gaps: Gaps,
        device: Device,
        *,
        epochs: int,
        plan: Plan,
        batch: int,
    ) -> None:
        self._network = network
        Seat(device, network)
        self._reader = reader
        self._gaps = gaps
        self._device = device
        self._items: list[tuple[Window, Encoded]] = [
            (window, encoded) for encoded in texts for window in reader.windows(encoded)
        ]
        self.orders = [self._order(number, batch) for number in range(epochs)]
        self.loop = Loop(self._network, self._loss, plan, device, steps=sum(map(len, self.orders)))

    def _order(self, epoch: int, budget: int) -> list[list[int]]:
        found = batches([len(window) for window, _ in self._items], budget)
        random.Random(epoch).shuffle(found)  # noqa: S311 - an order of notes
        return found

    def _loss(self, numbers: Sequence[int]) -> Any:
        inputs = self._reader.inputs([self._items[number] for number in numbers], self._device)
        shown, right = self._gaps(inputs["input_ids"], inputs["attention_mask"])
        scores = self._network(**inputs | {"input_ids": shown}).logits.float()
        return torch.nn.functional.cross_entropy(scores.flatten(0, 1), right.flatten(), ignore_index=IGNORED)
