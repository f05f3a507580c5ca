"""The linear-chain CRF layer (Lample et al. 2016, section 2.2), in torch."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn

from annotations.text.bio import OUTSIDE, split_tag
from models_runtime.backends.crf.paths import Path, best_paths, best_tags

# BIO tags as numbers, and the best path of valid tags.


NEVER = -1e4
"""The score of a barred transition. It rules out a path, and fits into half precision."""


@dataclass(frozen=True)
class Tags:
    """The tags: `O` first, then `B-` and `I-` of each label, in the order of the labels."""

    names: tuple[str, ...]

    @classmethod
    def of(cls, labels: Sequence[str]) -> "Tags":
        return cls((OUTSIDE, *(f"{prefix}-{label}" for label in labels for prefix in "BI")))

    def __len__(self) -> int:
        return len(self.names)

    def number(self, tag: str) -> int:
        return self.names.index(tag)

    def barred(self, score: float = NEVER) -> tuple[Any, Any]:
        """Scores to add for the first tag [tags] and for transitions [from, to].

        `I-X` only follows `B-X` and `I-X`. `score` is added where it doesn't.
        """
        tags = [split_tag(name) for name in self.names]
        first = np.array([score if prefix == "I" else 0.0 for prefix, _ in tags], dtype=np.float32)
        steps = np.zeros((len(tags), len(tags)), dtype=np.float32)
        for to, (prefix, label) in enumerate(tags):
            if prefix == "I":
                steps[[at for at, (before, other) in enumerate(tags) if before == OUTSIDE or other != label], to] = (
                    score
                )
        return first, steps


def best_path(scores: Any, first: Any, steps: Any) -> list[int]:
    """Viterbi: the tags with the highest sum of `scores` [tokens, tags], `first` [tags] and `steps` [from, to]."""
    if not len(scores):
        return []
    own = scores.copy()
    own[0] += first
    return best_tags(own, steps)


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

    def paths(self, items: Iterable[Any], *, marginals: bool = False) -> list[Path]:
        """The best path of each item, given its scores [tokens, tags] (numpy): see best_paths."""
        scores = (self.first + self.barred_first, self.steps + self.barred_steps, self.last)
        first, steps, last = (each.detach().cpu().numpy() for each in scores)
        return best_paths(with_ends(items, first, last), steps, marginals=marginals)


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


# Layers of recurrent networks: variational dropout, and a forward and a backward LSTM.


def locked(values: Any, share: float, *, training: bool) -> Any:
    """Set a share of the values [items, tokens, values] to 0: one mask for all tokens of an item.

    Gal and Ghahramani 2016. Values that stay are scaled up.
    """
    if not training or not share:
        return values
    kept = torch.empty(values.shape[0], 1, values.shape[2], device=values.device).bernoulli_(1 - share)
    return values * kept / (1 - share)


def bidirectional(onward: nn.LSTM, behind: nn.LSTM, shown: Any, lengths: Any) -> tuple[Any, Any]:
    """The states of both LSTMs at each position of `shown` [items, positions, values]; undefined after an item's end.

    At each position, `onward` has seen the item from its start, and `behind` from its end, both inclusive. Torch's own
    bidirectional LSTM needs packed sequences, and is six times slower on a CPU.
    """
    at = torch.arange(shown.shape[1], device=lengths.device)[None, :]
    # For each item, its positions from the last to the first, then those of the padding.
    backwards = torch.where(at < lengths[:, None], lengths[:, None] - 1 - at, at)
    return onward(shown)[0], _gathered(behind(_gathered(shown, backwards))[0], backwards)


def _gathered(values: Any, positions: Any) -> Any:
    return values.gather(1, positions[:, :, None].expand(-1, -1, values.shape[2]))
