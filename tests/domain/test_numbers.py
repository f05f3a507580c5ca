import pytest

from annotations.domain.numbers import MAX_ID, is_whole, whole


@pytest.mark.parametrize(
    ("word", "number"),
    [
        ("0", 0), ("007", 7), (str(MAX_ID), MAX_ID), (str(MAX_ID + 1), None), ("9" * 5_000, None), ("", None),
        ("-1", None), ("+1", None), ("1.0", None), (" 1", None), ("1_0", None), ("²", None), ("٣", None), ("0x1", None),
    ],
)  # fmt: skip
def test_whole(word, number):
    assert whole(word) == number


def test_the_largest_number():
    assert (whole("7", 7), whole("8", 7)) == (7, None)


@pytest.mark.parametrize("value", [True, 1.0, "1", None, [1], -1, MAX_ID + 1])
def test_other_json_values_are_not_whole_numbers(value):
    assert not is_whole(value)
    assert is_whole(MAX_ID)
