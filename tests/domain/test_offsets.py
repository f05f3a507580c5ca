"""A check of the table of offsets that the JavaScript tests use, against Python's own encoding."""

import pytest

from tests.domain.strategies import cases


@pytest.mark.parametrize("case", cases("offsets.json")["cases"], ids=lambda case: case["what"])
def test_the_table_has_the_utf16_offsets(case: dict) -> None:
    text = case["text"]
    assert case["units"] == [len(text[:point].encode("utf-16-le")) // 2 for point in range(len(text) + 1)]
