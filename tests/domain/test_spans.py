import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.domain.spans import Span, SpanError, checked, overlap_length, overlaps
from annotations.domain.whitespace import WHITE_SPACE, trim
from tests.domain.strategies import cases, texts, texts_with_spans


@given(*[st.integers(0, 12)] * 4)
def test_overlap_is_sharing_a_character(a: int, b: int, c: int, d: int) -> None:
    first, second = Span(min(a, b), max(a, b) + 1, "X"), Span(min(c, d), max(c, d) + 1, "X")
    shared = set(range(first.start, first.end)) & set(range(second.start, second.end))
    assert overlap_length(first, second) == len(shared)
    assert overlaps(first, second) == bool(shared)


def test_order_and_equality_leave_out_confidence_and_source() -> None:
    assert Span(1, 2, "A", 0.9, "rules") == Span(1, 2, "A")
    assert len({Span(1, 2, "A", 0.9), Span(1, 2, "A", 0.1)}) == 1
    assert sorted([Span(2, 3, "A"), Span(1, 9, "B"), Span(1, 4, "C")])[0] == Span(1, 4, "C")


@pytest.mark.parametrize(
    ("start", "end", "quote", "code"),
    [
        (3, 3, None, "empty"),
        (5, 3, None, "empty"),
        (-1, 3, None, "outside"),
        (0, 99, None, "outside"),
        (4, 7, "Bos", "quote"),
        (4, 7, " Ann", "quote"),
        (3, 4, None, "white"),
    ],
)
def test_checked_refuses(start: int, end: int, quote: str | None, code: str) -> None:
    with pytest.raises(SpanError) as error:
        checked("Dr. Ann Bos", Span(start, end, "X"), quote)
    assert error.value.code == code
    assert "Ann" not in str(error.value)


def test_checked_trims_after_comparing_the_quote() -> None:
    span = checked("Dr. Ann \n", Span(3, 9, "X", 0.5, "rules"), " Ann \n")
    assert (span.start, span.end, span.label, span.confidence, span.source) == (4, 7, "X", 0.5, "rules")


@given(texts_with_spans())
def test_checked_keeps_a_good_span(made: tuple[str, list[Span]]) -> None:
    text, spans = made
    for span in spans:
        assert checked(text, span, text[span.start : span.end]) is span
        assert text[span.start] not in WHITE_SPACE
        assert text[span.end - 1] not in WHITE_SPACE


@pytest.mark.parametrize("case", cases("tokens.json")["trim"], ids=lambda case: case["what"])
def test_trim_case(case: dict) -> None:
    start, end = trim(case["text"], *case["range"])
    assert (start == end) if case["out"] is None else ([start, end] == case["out"])


@given(texts(), st.data())
def test_trim_removes_white_space_only(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    first, past = trim(text, start, end)
    assert start <= first <= past <= end
    assert text[first:past] == text[start:end].strip("".join(WHITE_SPACE))


def test_white_space_is_the_unicode_property_plus_two_characters() -> None:
    assert len(WHITE_SPACE) == 25 + 2
    assert "\x1c" not in WHITE_SPACE  # str.isspace differs
    assert "\u180e" not in WHITE_SPACE
    assert "\u2060" not in WHITE_SPACE
