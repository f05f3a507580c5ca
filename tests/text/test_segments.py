import pytest
from hypothesis import given

from annotations.text.segments import Line, Segment, lines
from annotations.text.spans import Span
from tests.text.strategies import cases, texts, texts_with_spans
from tests.text.twins import segment_lines
from tests.timing import takes_at_most


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


def test_a_long_note_with_many_spans_is_quick() -> None:
    text = "Paciente de 53 años, NHC 2569870.\n" * 1000
    spans = [Span(at, at + 30, "X") for at in range(0, 33_000, 50)] + [Span(0, 33_000, "Y")]
    assert takes_at_most(1, lambda: segment_lines(text, spans))
