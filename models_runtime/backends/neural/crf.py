"""The linear-chain CRF layer (Lample et al. 2016, section 2.2), in torch."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from models_runtime.backends.neural.tags import Tags, best_path

# Added to sums of probabilities, so that the logarithm of a barred transition is finite.
TINY = 1e-37


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

    def marginals(self, scores: Any, mask: Any) -> Any:
        """The probability of each tag at each token, [items, tokens, tags]: the gradient of the log normalizer."""
        with torch.enable_grad():
            leaf = scores.detach().float().requires_grad_()
            (found,) = torch.autograd.grad(self._normalizer(leaf, mask).sum(), leaf)
        return found

    def as_scores(self, items: Iterable[Any]) -> tuple[list[Any], Any]:
        """The scores of items [tokens, tags], with those of the first and the last tag, and the scores of steps
        [from, to]: the input of `models_runtime.backends.crf.paths`.

        At each token, the highest score is 0. This changes no path and no probability, and keeps exponentials small.
        """
        first = (self.first + self.barred_first).detach().cpu().numpy()
        steps = (self.steps + self.barred_steps).detach().cpu().numpy()
        last = self.last.detach().cpu().numpy()
        found = []
        for item in items:
            own = np.array(item, dtype=np.float32)
            own[0] += first
            own[-1] += last
            found.append(own - own.max(axis=1, keepdims=True))
        return found, steps

    def paths(self, scores: Any, lengths: Sequence[int]) -> list[list[int]]:
        """The best tags of each item (Viterbi)."""
        first = (self.first + self.barred_first).detach().cpu().numpy()
        steps = (self.steps + self.barred_steps).detach().cpu().numpy()
        last = self.last.detach().cpu().numpy()
        found = []
        for row, length in zip(scores.detach().float().cpu().numpy(), lengths, strict=True):
            own = np.array(row[:length])
            own[-1] += last
            found.append(best_path(own, first, steps))
        return found
