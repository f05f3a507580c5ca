"""Comparison of the browser's offset code, run under Node, with Python's, on difficult texts.

Whenever the two differ, add the text to `tests/cases`, which is used to test both.
"""

import json
import subprocess
from collections.abc import Callable, Iterator
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from annotations.text.characters import WHITE_SPACE, trim
from annotations.text.segments import lanes, lines
from annotations.text.spans import Span, split_at, tokenize
from tests.text.strategies import texts
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
