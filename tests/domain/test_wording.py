import pytest

from annotations.domain.wording import WordingError, worded


@pytest.mark.parametrize(
    "value, stored",
    [("  a\r\nb\rc \n", "a\nb\nc"), ("<b>x</b>", "<b>x</b>"), ("\u202eמה", "\u202eמה"), ("x" * 10, "x" * 10)],
)
def test_stored(value, stored):
    assert worded(value, 10) == stored


@pytest.mark.parametrize(
    "value, says",
    [
        ("", "empty"),
        (" \n\u200b", "empty"),
        ("a\0b", "NUL"),
        ("\ud83d", "surrogate"),
        ("x" * 11, "11"),
        (None, "string"),
    ],
)
def test_errors_don_t_quote_the_text(value, says):
    with pytest.raises(WordingError, match=says) as caught:
        worded(value, 10)
    assert "xxx" not in str(caught.value)


def test_a_text_that_may_be_empty():
    assert worded("", 10, blank=True) == ""
