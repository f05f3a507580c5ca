"""Comparison of the browser's offset code, run under Node, with Python's, on difficult texts.

Whenever the two differ, add the text to `tests/cases`, which is used to test both.
"""

import json
import subprocess
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise, product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from annotations.text.characters import WHITE_SPACE
from annotations.text.matching import match
from annotations.text.segments import Line, Segment, lanes, lines
from annotations.text.spans import Span, SpanError, checked, overlap_length, overlaps, split_at, tokenize, trim
from tests.text.strategies import cases, texts, texts_with_spans
from tests.text.twins import segment_lines, snap
from tests.waiting import ended

BRIDGE = Path(__file__).parent.parent / "js" / "bridge.mjs"

Question = dict[str, Any]
Ask = Callable[[Question], dict[str, Any]]


@pytest.fixture(scope="session")
def ask() -> Iterator[Ask]:
    """A function that asks the browser's code, in one Node process for all questions."""
    with subprocess.Popen(["node", str(BRIDGE)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as node:
        assert node.stdin and node.stdout
        into, out = node.stdin, node.stdout

        def one(question: Question) -> dict[str, Any]:
            into.write(json.dumps(question).encode() + b"\n")
            into.flush()
            answer = out.readline()
            assert answer, "Node has exited; its output is above"
            return json.loads(answer)

        yield one
        into.close()
        assert ended(node) == 0


def half_pairs() -> st.SearchStrategy[str]:
    """Texts with unpaired surrogates, as only a broken client sends them."""
    odd = st.sampled_from(["\ud83d", "\ude00", "a", "1", " ", "\r\n", "😀", "\u0301"])
    return st.lists(odd, max_size=8).map(lambda parts: "".join(parts).replace("\ud83d\ude00", "\ud83d \ude00"))


@st.composite
def questions(draw: st.DrawFn) -> Question:
    text = draw(st.one_of(texts(), texts(), texts(80), half_pairs()))
    offset = st.integers(0, len(text))
    ranges = st.lists(st.tuples(offset, offset).map(lambda pair: [min(pair), max(pair)]), max_size=8)
    spans = st.tuples(offset, offset, st.integers(1, 3)).map(lambda s: [min(s[:2]), max(s[:2]), s[2]])
    return {
        "text": text, "ranges": draw(ranges), "cuts": draw(st.lists(offset, max_size=6)),
        "spans": [span for span in draw(st.lists(spans, max_size=10)) if span[0] < span[1]],
    }  # fmt: skip


def expected(question: Question) -> dict[str, Any]:
    """The expected answers, by Python's code."""
    text, ranges = question["text"], question["ranges"]
    widths = [1 + (character > "\uffff") for character in text]
    units = list(accumulate(widths, initial=0))
    points = [point for point, width in enumerate(widths) for _ in range(width)] + [len(text)]
    tokens = tokenize(text)
    found = segment_lines(text, [Span(start, end, str(label)) for start, end, label in question["spans"]])
    rows = [
        [[each.start, each.end, list(each.spans), list(each.starts), list(each.ends)] for each in segments]
        for _, segments in found
    ]
    given = lanes([(start, end, label) for start, end, label in question["spans"]])
    return {
        "length": [len(text), len(text)], "units": units, "unitsOneByOne": units[:: 1 if len(units) <= 2000 else 997],
        "points": points, "pointsOneByOne": points[:: 1 if len(points) <= 2000 else 997],
        "slices": [text[start:end] for start, end in ranges], "tokens": [[token.start, token.end] for token in tokens],
        "split": [[token.start, token.end] for token in split_at(tokens, question["cuts"])],
        "snapped": [None if (found := snap(tokens, *each)) is None else list(found) for each in ranges],
        "trimmed": [list(trim(text, *each)) for each in ranges],
        "lines": [[line.number, line.start, line.end, line.break_end] for line in lines(text)], "rows": rows,
        "rowsOneByOne": rows, "lanes": given, "lanesByAndBy": given,
    }  # fmt: skip


def words_of(text: str) -> list[str]:
    return "".join(" " if character in WHITE_SPACE else character for character in text).split()


def check_suggestions(question: Question, answers: dict[str, Any]) -> None:
    """Check the answers without a counterpart in Python: other mentions, expanded selections and candidates."""
    text = question["text"]
    for (start, end, _), mentions in zip(question["spans"], answers["mentions"], strict=True):
        for mention in mentions:
            assert words_of(text[slice(*mention)]) == words_of(text[start:end]) and mention != [start, end]
    for choices in answers["expansions"]:
        for inner, outer in pairwise(choices or []):
            assert outer[0] <= inner[0] < inner[1] <= outer[1]
    for start, end in [bounds for choices in answers["expansions"] for bounds in choices or []] + answers["candidates"]:
        assert 0 <= start < end <= len(text) and trim(text, start, end) == (start, end)
    assert all(a[1] <= b[0] for a, b in pairwise(answers["candidates"]))


def asked(text: str) -> Question:
    """A question about a short text: every range, a cut at every offset and a span over every two characters."""
    size = len(text)
    ranges = [[start, end] for start in range(size + 1) for end in range(start, size + 1)]
    spans = [[start, start + 2, 1 + start % 3] for start in range(size - 1)]
    return {"text": text, "ranges": ranges, "cuts": list(range(size, -1, -1)), "spans": spans}


@given(question=questions())
@example(question=asked(""))
@example(question=asked("\n\ufeffa\u200b\r\r\n\u2028b\u0085\u00a0\t"))
@example(question=asked("👨‍👩‍👧1😀e\u0301\U0010ffff"))
@example(question=asked("دكتور 12 דוד\u202ex"))
@example(question=asked("\ude00\ud83da\ud83d"))
def test_the_browser_and_python_give_the_same_results(ask: Ask, question: Question) -> None:
    answers = ask(question)
    for what, wanted in expected(question).items():
        assert answers[what] == wanted, what
    check_suggestions(question, answers)


def test_a_line_of_20_000_characters(ask: Ask) -> None:
    text = "Ωmega 😀 דוד\u00a012/03 e\u0301 " * 1200
    spans = [[start, start + 30, 1 + start % 3] for start in range(0, len(text) - 30, 150)]
    question = {"text": text, "ranges": [[0, len(text)], [9999, 20001]], "cuts": [7, 20_000], "spans": spans}
    assert len(text) > 20_000
    answers = ask(question)
    assert {what: answers[what] for what in expected(question)} == expected(question)


def test_an_offset_inside_a_surrogate_pair_is_that_of_its_start(ask: Ask) -> None:
    assert ask(asked("a😀b"))["points"] == [0, 1, 1, 2, 3]


# ── Segments for drawing ──


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
