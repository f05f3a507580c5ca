"""Language pre-training with masked words, before any label (Salierno et al. 2024, section 5).

15% of the pieces are chosen; of those, 80% are masked, 10% replaced, 10% unchanged (Devlin et al. 2019, section
3.1).
"""

import random
from collections.abc import Sequence
from typing import Any, Final

import torch

from models_runtime.backends.neural.device import Device, Placement
from models_runtime.backends.neural.learning import IGNORED, Loop, Plan
from models_runtime.backends.neural.windows import Window, batches
from models_runtime.backends.token_classification.encoding import Encoded
from models_runtime.backends.token_classification.scoring import Scorer

SHARE: Final = 0.15
MASKED: Final = 0.8
SWAPPED: Final = 0.1


class Masking:
    """Masks pieces in batches. `around`: the number of special pieces before and after each window."""

    def __init__(self, mask: int, vocabulary: int, around: tuple[int, int]) -> None:
        self._mask = mask
        self._vocabulary = vocabulary
        self._before, self._after = around

    def __call__(self, ids: Any, there: Any) -> tuple[Any, Any]:
        """Masked pieces [windows, pieces], and the targets: the original pieces, IGNORED for pieces not chosen."""
        lengths = there.sum(dim=1, keepdim=True)
        at = torch.arange(ids.shape[1], device=ids.device)
        maskable = (at >= self._before) & (at < lengths - self._after)
        chosen = (torch.rand(ids.shape).to(ids.device) < SHARE) & maskable
        chosen[:, self._before] |= ~chosen.any(dim=1)  # each window needs a target
        right = torch.where(chosen, ids, IGNORED)
        dice = torch.rand(ids.shape).to(ids.device)
        other = torch.randint(self._vocabulary, ids.shape).to(ids.device)
        shown = torch.where(chosen & (dice < MASKED), self._mask, ids)
        shown = torch.where(chosen & (dice >= 1 - SWAPPED), other, shown)
        return shown, right


class MaskedLmTraining:
    """A masked-word training. `plan` and `batch` (in pieces) are those of the training that follows."""

    def __init__(
        self,
        network: Any,
        scorer: Scorer,
        texts: Sequence[Encoded],
        gaps: Masking,
        device: Device,
        *,
        epochs: int,
        plan: Plan,
        batch: int,
    ) -> None:
        self._network = network
        Placement(device, network)
        self._scorer = scorer
        self._gaps = gaps
        self._device = device
        self._items: list[tuple[Window, Encoded]] = [
            (window, encoded) for encoded in texts for window in scorer.windows(encoded)
        ]
        self.orders = [self._order(number, batch) for number in range(epochs)]
        self.loop = Loop(self._network, self._loss, plan, device, steps=sum(map(len, self.orders)))

    def _order(self, epoch: int, budget: int) -> list[list[int]]:
        found = batches([len(window) for window, _ in self._items], budget)
        random.Random(epoch).shuffle(found)  # noqa: S311 - an order of notes
        return found

    def _loss(self, numbers: Sequence[int]) -> Any:
        inputs = self._scorer.inputs([self._items[number] for number in numbers], self._device)
        shown, right = self._gaps(inputs["input_ids"], inputs["attention_mask"])
        scores = self._network(**inputs | {"input_ids": shown}).logits.float()
        return torch.nn.functional.cross_entropy(scores.flatten(0, 1), right.flatten(), ignore_index=IGNORED)
