"""A check of the table of offsets that the JavaScript tests use, against Python's own encoding."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.text.characters import Utf16
from tests.text.strategies import cases


@pytest.mark.parametrize("case", cases("offsets.json")["cases"], ids=lambda case: case["what"])
def test_the_table_has_the_utf16_offsets(case: dict) -> None:
    text = case["text"]
    assert case["units"] == [len(text[:point].encode("utf-16-le")) // 2 for point in range(len(text) + 1)]


# ── Conversion between code points and UTF-16 code units ─────────────────────────────────────────────────────────────


UNITS = [
    ("", [0]), ("Anna", [0, 1, 2, 3, 4]), ("Müller", [0, 1, 2, 3, 4, 5, 6]), ("a😀b", [0, 1, 3, 4]), ("😀", [0, 2]),
    ("😀😀", [0, 2, 4]),
    ("e\u0301𝒳", [0, 1, 2, 4]),  # a combining mark, and a letter above U+FFFF
    ("\ufeffAnna\r\n", [0, 1, 2, 3, 4, 5, 6, 7]),
    ("👩‍⚕️", [0, 2, 3, 4, 5]),  # four code points: woman, joiner, staff, selector
]  # fmt: skip


@pytest.mark.parametrize(("text", "units"), UNITS)
def test_each_offset_and_back(text: str, units: list[int]) -> None:
    offsets = Utf16(text)
    assert [offsets.units(at) for at in range(len(text) + 1)] == units
    assert [offsets.points(at) for at in units] == list(range(len(text) + 1))
    assert offsets.length == units[-1]


@pytest.mark.parametrize(("text", "units"), [("a😀b", 2), ("😀", 1), ("Anna", 5), ("Anna", -1)])
def test_offsets_inside_a_character_or_outside_the_text(text: str, units: int) -> None:
    assert Utf16(text).points(units) is None


@given(st.text())
def test_as_the_encoding_counts(text: str) -> None:
    text = "".join(character for character in text if not "\ud800" <= character <= "\udfff")
    offsets = Utf16(text)
    for at in range(len(text) + 1):
        units = len(text[:at].encode("utf-16-le")) // 2
        assert offsets.units(at) == units
        assert offsets.points(units) == at
