"""Windows and batches: every piece is predicted once, with context; batches keep the budget."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models_runtime.backends.neural.device import batches, windows


@given(st.integers(0, 3000), st.integers(2, 510), st.data())
def test_every_piece_is_predicted_once_with_context(count: int, most: int, data: st.DataObject) -> None:
    overlap = data.draw(st.integers(0, most - 1))
    found = windows(count, most, overlap)
    assert [at for window in found for at in range(window.kept, window.kept_past)] == list(range(count))
    for window in found:
        assert window.start <= window.kept < window.kept_past <= window.past
        assert len(window) <= most
        assert window.start == 0 or window.kept - window.start >= overlap // 2
        assert window.past == count or window.past - window.kept_past >= overlap // 2
    assert len(found) <= 1 or all(len(window) == most for window in found)


def test_an_overlap_as_large_as_the_window_is_an_error() -> None:
    with pytest.raises(ValueError, match="can't overlap"):
        windows(100, 10, 10)


@given(st.lists(st.integers(1, 600), max_size=60), st.integers(1, 5000))
def test_batches_contain_each_item_once_and_keep_the_budget(lengths: list[int], budget: int) -> None:
    found = batches(lengths, budget)
    assert sorted(at for batch in found for at in batch) == list(range(len(lengths)))
    for batch in found:
        assert len(batch) == 1 or max(lengths[at] for at in batch) * len(batch) <= budget
    assert [max(lengths[at] for at in batch) for batch in found] == sorted(
        (max(lengths[at] for at in batch) for batch in found), reverse=True
    )
