"""Python counts code points by itself; this holds the table that JavaScript is tested with to account."""

import pytest

from tests.domain.strategies import cases


@pytest.mark.parametrize("case", cases("offsets.json")["cases"], ids=lambda case: case["what"])
def test_table_says_how_utf16_counts(case: dict) -> None:
    text = case["text"]
    assert case["units"] == [len(text[:point].encode("utf-16-le")) // 2 for point in range(len(text) + 1)]
