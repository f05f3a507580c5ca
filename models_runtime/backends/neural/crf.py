"""The linear-chain CRF layer (Lample et al. 2016, section 2.2), in torch."""

from collections.abc import Iterable
from typing import Any, Final

import numpy as np
import torch
from torch import nn

from models_runtime.backends.crf.paths import Path, best_paths
from models_runtime.backends.neural.tags import Tags

# Added to sums of probabilities, so that the logarithm of a barred transition is finite.
TINY = 1e-37
OUTSIDE: Final = 0
"""The number of the tag O (see Tags)."""


class Crf(nn.Module):  # type: ignore[misc]  # torch has no types where it is not installed
    """Transition scores between tags; invalid BIO transitions are barred. Batches are [items, tokens, tags]. `mask`
    [items, tokens] is True for tokens and False for padding; every item has at least one token.
    """

    def __init__(self, tags: Tags) -> None:
        super().__init__()
        first, steps = tags.barred()
        self.first = nn.Parameter(torch.zeros(len(tags)))
        self.steps = nn.Parameter(torch.zeros(len(tags), len(tags)))
        self.last = nn.Parameter(torch.zeros(len(tags)))
        self.register_buffer("barred_first", torch.from_numpy(first), persistent=False)
        self.register_buffer("barred_steps", torch.from_numpy(steps), persistent=False)

    def loss(self, scores: Any, mask: Any, target: Any, weights: Any = None) -> Any:
        """The negative log-likelihood of `target` [items, tokens], summed over items by `weights` [items]."""
        # In bf16, the sums over all paths would be too imprecise for training.
        with torch.autocast(scores.device.type, enabled=False):
            scores = scores.float()
            losses = self._normalizer(scores, mask) - self._score(scores, mask, target)
            return (losses if weights is None else weights * losses).sum()

    def _score(self, scores: Any, mask: Any, target: Any) -> Any:
        """The score of the given tags, [items]."""
        target = target.clamp(min=0)
        own = scores.gather(2, target[:, :, None])[:, :, 0]
        step = self.steps[target[:, :-1], target[:, 1:]]
        ends = target.gather(1, mask.sum(1, keepdim=True) - 1)[:, 0]
        inside = (own * mask).sum(1) + (step * mask[:, 1:]).sum(1)
        return inside + self.first[target[:, 0]] + self.last[ends]

    def _normalizer(self, scores: Any, mask: Any) -> Any:
        """The logarithm of the sum over all paths, [items]."""
        # As a matrix product, one logarithm per token and tag is enough, instead of one per transition.
        steps = (self.steps + self.barred_steps).exp()
        total = scores[:, 0] + self.first + self.barred_first
        for at, row in enumerate(scores.unbind(1)[1:], start=1):
            most = total.amax(1, keepdim=True).detach()
            on = ((total - most).exp() @ steps + TINY).log() + most + row
            total = torch.where(mask[:, at, None], on, total)
        return torch.logsumexp(total + self.last, dim=1)

    def paths(self, items: Iterable[Any], *, marginals: bool = False) -> list[Path]:
        """The best path of each item, given its scores [tokens, tags] (numpy): see best_paths."""
        scores = (self.first + self.barred_first, self.steps + self.barred_steps, self.last)
        first, steps, last = (each.detach().cpu().numpy() for each in scores)
        return best_paths(with_ends(items, first, last), steps, marginals=marginals, outside=OUTSIDE)


def with_ends(items: Iterable[Any], first: Any, last: Any) -> list[Any]:
    """The scores of items [tokens, tags] with those of the first and the last tag [tags], whose type they get.

    At each token, the highest score is 0. This changes no path and no probability, and keeps exponentials small.
    """
    found = []
    for item in items:
        own = np.array(item, dtype=first.dtype)
        own[0] += first
        own[-1] += last
        found.append(own - own.max(axis=1, keepdims=True))
    return found
