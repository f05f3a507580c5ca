"""Paths of the CRF are searched only where they are uncertain. They equal those of plain computations."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models_runtime.backends.crf import probabilities
from models_runtime.backends.crf.certain import uncertain
from models_runtime.backends.crf.paths import best_paths
from models_runtime.backends.crf.stack import Stack, Stretches, stacked
from models_runtime.backends.crf.sums import Recent
from models_runtime.backends.crf.weights import Floats

TAGS = 5


def scores_and_steps(lengths: Sequence[int], lead: float, seed: int) -> tuple[list[Floats], Floats]:
    """Random scores. The tag 0 leads nearly everywhere, as `O` does in notes."""
    chance = np.random.default_rng(seed)
    steps = 2 * chance.normal(size=(TAGS, TAGS))
    items = [2 * chance.normal(size=(length, TAGS)) for length in lengths]
    for item in items:
        item[chance.random(len(item)) < 0.95, 0] += lead
    return items, steps


def plain(item: Floats, steps: Floats) -> tuple[list[int], Floats]:
    """The best tags of one sequence and the probabilities of all tags, token by token."""
    best, ways = [item[0]], []
    for row in item[1:]:
        through = best[-1][:, None] + steps
        ways.append(through.argmax(axis=0))
        best.append(through.max(axis=0) + row)
    tags = [int(best[-1].argmax())]
    for way in reversed(ways):
        tags.insert(0, int(way[tags[0]]))
    forward, backward = [item[0]], [np.zeros(len(steps))]
    for row in item[1:]:
        forward.append(np.logaddexp.reduce(forward[-1][:, None] + steps, axis=0) + row)
    for row in item[:0:-1]:
        backward.insert(0, np.logaddexp.reduce(steps + row + backward[0], axis=1))
    total = np.logaddexp.reduce(forward[-1])
    return tags, np.exp(np.array(forward) + np.array(backward) - total)


@given(
    st.lists(st.integers(1, 150), min_size=1, max_size=4),
    st.sampled_from([0.0, 3.0, 8.0, 14.0, 25.0]),
    st.integers(0, 2**31),
)
def test_paths_are_those_of_whole_sequences(lengths: list[int], lead: float, seed: int) -> None:
    items, steps = scores_and_steps(lengths, lead, seed)
    for item, path in zip(items, best_paths(items, steps, outside=0), strict=True):
        tags, shares = plain(item, steps)
        assert path.tags == tags
        right = [shares[at, tag] if tag else 1.0 for at, tag in enumerate(tags)]
        assert path.odds == pytest.approx(right, abs=1e-8)


def test_few_tokens_are_searched_and_few_probabilities_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    items, steps = scores_and_steps([400] * 20, 25.0, 3)
    scores = np.concatenate(items)
    starts = np.arange(0, 8000, 400)
    searched = uncertain(scores, starts, steps, 0)
    assert 0 < searched.mean() < 0.3
    computed = []

    def counted(scores: Floats, stretches: Stretches) -> Stack:
        computed.append(stacked(scores, stretches))
        return computed[-1]

    monkeypatch.setattr(probabilities, "stacked", counted)
    paths = best_paths(items, steps, outside=0)
    inside = sum(tag > 0 for path in paths for tag in path.tags)
    assert inside <= sum(len(each.tokens) for each in computed) < 0.6 * len(scores)


def test_limits_that_are_too_wide_give_way_to_whole_sequences(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shorter approach has wider limits, so that all probabilities come from whole sequences."""
    items, steps = scores_and_steps([200] * 5, 8.0, 5)
    expected = best_paths(items, steps, outside=0)
    monkeypatch.setattr(probabilities, "APPROACH", 1)
    for one, two in zip(expected, best_paths(items, steps, outside=0), strict=True):
        assert one.tags == two.tags and one.odds == pytest.approx(two.odds, abs=1e-8)
    assert any(tag for path in expected for tag in path.tags)


def test_weights_that_are_too_large_have_paths_without_probabilities() -> None:
    items, steps = scores_and_steps([60, 90], 8.0, 7)
    for item, path in zip(items, best_paths([1e4 * item for item in items], 1e4 * steps, outside=0), strict=True):
        assert path.tags == plain(1e4 * item, 1e4 * steps)[0]
        assert any(path.tags) and any(np.isnan(path.odds))


def test_a_stack_has_the_tokens_of_its_stretches() -> None:
    sequences = Stretches(np.array([0, 4, 5]), np.array([4, 5, 9]))
    parts = sequences.where(np.array([0, 0, 1, 1, 1, 1, 0, 1, 1], dtype=bool))
    assert list(zip(parts.first.tolist(), parts.past.tolist(), strict=True)) == [(2, 4), (4, 5), (5, 6), (7, 9)]
    stack = stacked(np.arange(9.0)[:, None], parts)
    assert stack.tokens.tolist() == [2, 7, 4, 5, 3, 8] and stack.scores.ravel().tolist() == stack.tokens.tolist()
    assert stack.first == [0, 4] and stack.going == [4, 2]
    assert stack.tokens[stack.last].tolist() == [3, 8, 4, 5] and stack.order.tolist() == [0, 3, 1, 2]


def test_recent_numbers_are_those_of_the_table() -> None:
    """Also for keys with the same hash, and more keys than hashes."""
    keys = np.random.default_rng(0).integers(0, 1 << 60, 30_000)
    table = {key: number for number, key in enumerate(keys.tolist())}
    recent = Recent(table)
    for part in (keys, keys[::-1], np.repeat(keys[:50], 3)):
        assert recent.of(part).tolist() == [table[key] for key in part.tolist()]
