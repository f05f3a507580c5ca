from collections.abc import Sequence
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.text.characters import WHITE_SPACE, trim
from annotations.text.matching import match
from annotations.text.segments import Line, Segment, lines
from annotations.text.spans import Span, SpanError, checked, overlap_length, overlaps
from tests.text.strategies import cases, texts, texts_with_spans
from tests.text.twins import segment_lines


@pytest.mark.parametrize("case", cases("segments.json")["cases"], ids=lambda case: case["what"])
def test_case(case: dict) -> None:
    def segment(each: dict) -> Segment:
        return Segment(each["start"], each["end"], *(tuple(each[key]) for key in ("spans", "starts", "ends")))

    got = segment_lines(case["text"], [Span(*bounds, "X") for bounds in case["spans"]])
    assert got == [(Line(*row["line"]), [segment(each) for each in row["segments"]]) for row in case["rows"]]


@given(texts())
def test_joined_lines_are_the_text(text: str) -> None:
    found = lines(text)
    assert "".join(text[line.start : line.break_end] for line in found) == text
    assert [line.number for line in found] == list(range(1, len(found) + 1))
    assert all(text[line.end : line.break_end] in ("\r\n", "\n", "\r") for line in found[:-1])
    assert not any(mark in text[line.start : line.end] for line in found for mark in "\r\n")


@given(texts_with_spans())
def test_joined_segments_are_the_text_and_list_exactly_their_covering_spans(made: tuple[str, list[Span]]) -> None:
    text, spans = made
    rows = segment_lines(text, spans)
    edges = {edge for span in spans for edge in (span.start, span.end)}
    built = ""
    for line, segments in rows:
        assert all(segment.start < segment.end for segment in segments)
        built += "".join(text[segment.start : segment.end] for segment in segments) + text[line.end : line.break_end]
        for segment in segments:
            for at in range(segment.start, segment.end):
                assert set(segment.spans) == {i for i, span in enumerate(spans) if span.start <= at < span.end}
            lengths = [(spans[i].start - spans[i].end, spans[i].start, i) for i in segment.spans]
            assert lengths == sorted(lengths)
            assert all(spans[i].start == segment.start for i in segment.starts)  # trimmed spans have no white space
            assert all(spans[i].end == segment.end for i in segment.ends)
        # Segments are as long as possible.
        inner = {segment.start for segment in segments} - {line.start}
        assert inner == {edge for edge in edges if line.start < edge < line.end}
    assert built == text
    for side in ("starts", "ends"):  # once each
        found = sorted(i for _, row in rows for segment in row for i in getattr(segment, side))
        assert found == list(range(len(spans)))


@given(*[st.integers(0, 12)] * 4)
def test_overlap_is_sharing_a_character(a: int, b: int, c: int, d: int) -> None:
    first, second = Span(min(a, b), max(a, b) + 1, "X"), Span(min(c, d), max(c, d) + 1, "X")
    shared = set(range(first.start, first.end)) & set(range(second.start, second.end))
    assert overlap_length(first, second) == len(shared) and overlaps(first, second) == bool(shared)


INVALID_SPANS = [
    (3, 3, None, "empty"), (5, 3, None, "empty"), (-1, 3, None, "outside"), (0, 99, None, "outside"),
    (4, 7, "Bos", "quote"), (4, 7, " Ann", "quote"), (3, 4, None, "white"),
]  # fmt: skip


@pytest.mark.parametrize(("start", "end", "quote", "code"), INVALID_SPANS)
def test_checked_refuses(start: int, end: int, quote: str | None, code: str) -> None:
    with pytest.raises(SpanError) as error:
        checked("Dr. Ann Bos", Span(start, end, "X"), quote)
    assert error.value.code == code and "Ann" not in str(error.value)


@given(texts_with_spans())
def test_checked_keeps_a_good_span(made: tuple[str, list[Span]]) -> None:
    text, spans = made
    for span in spans:
        assert checked(text, span, text[span.start : span.end]) is span and text[span.start] not in WHITE_SPACE
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
    assert start <= first <= past <= end and text[first:past] == text[start:end].strip("".join(WHITE_SPACE))


# ── Matching ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def spans(limit: int = 5, labels: str = "AB") -> st.SearchStrategy[list[Span]]:
    drawn = st.tuples(st.integers(0, 9), st.integers(1, 6), st.sampled_from(labels))
    return st.lists(drawn.map(lambda d: Span(d[0], d[0] + d[1], d[2])), max_size=limit)


def same_group(a: Span, b: Span) -> bool:
    """A and B belong to one category, C to another."""
    return (a.label == "C") == (b.label == "C")


RULES = [None, lambda a, b: a.label == b.label, same_group]


def worth(pairs: Sequence[tuple[int, int]], predicted: Sequence[Span], gold: Sequence[Span]) -> tuple[int, ...]:
    """The criteria by which `match` chooses a matching."""
    both = [(predicted[p], gold[g]) for p, g in pairs]
    return (
        sum(p == g for p, g in both), sum((p.start, p.end) == (g.start, g.end) for p, g in both), len(both),
        sum(overlap_length(p, g) for p, g in both), sum(p.label == g.label for p, g in both),
    )  # fmt: skip


def best_by_trying(predicted: Sequence[Span], gold: Sequence[Span], compatible) -> tuple[int, ...]:
    choices = [
        [None, *(g for g, b in enumerate(gold) if overlaps(a, b) and (compatible is None or compatible(a, b)))]
        for a in predicted
    ]
    best = (0,) * 5
    for choice in product(*choices):
        taken = [g for g in choice if g is not None]
        if len(taken) == len(set(taken)):
            best = max(best, worth([(p, g) for p, g in enumerate(choice) if g is not None], predicted, gold))
    return best


@pytest.mark.parametrize("compatible", RULES)
@given(predicted=spans(labels="ABC"), gold=spans(labels="ABC"))
def test_it_is_the_best_of_all_matchings(compatible, predicted: list[Span], gold: list[Span]) -> None:
    pairs = match(predicted, gold, compatible=compatible)
    assert pairs == sorted(pairs) and len({p for p, _ in pairs}) == len({g for _, g in pairs}) == len(pairs)
    for p, g in pairs:
        assert overlaps(predicted[p], gold[g])
        assert compatible is None or compatible(predicted[p], gold[g])
    assert worth(pairs, predicted, gold) == best_by_trying(predicted, gold, compatible)
