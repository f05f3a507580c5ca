"""The template tag and its lanes; tests/browser/annotate/test_hostile.py compares the browser's drawing with it."""

import html
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.core.labels import LabelItem
from annotations.core.spans import SpanItem
from annotations.core.templatetags import note_text as drawing_rules
from annotations.core.templatetags.note_text import note_text
from annotations.text.segments import LANES, lanes
from annotations.text.spans import DEEPEST, MOST_SPANS, crowd_in

CASES = json.loads((Path(__file__).parent.parent / "cases" / "lanes.json").read_text())


def label(pk: int, name: str) -> LabelItem:
    return LabelItem(id=pk, name=name, key="", description="", category="C", hue=pk, underline=pk)


LABELS = [label(1, "ONE"), label(2, '<TWO> & "co"')]


def span(pk: int, start: int, end: int, label_id: int = 1) -> SpanItem:
    return SpanItem(id=pk, start=start, end=end, label=label_id)


@pytest.mark.parametrize("case", CASES)
def test_the_table_that_the_browser_reads_too(case: dict[str, list]) -> None:
    assert lanes([tuple(each) for each in case["spans"]]) == case["lanes"]


PLACES = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 9), st.integers(0, 3)), max_size=12)


@given(PLACES)
def test_spans_that_overlap_share_no_lane_but_the_last(found: list[tuple[int, int, int]]) -> None:
    bounds = [(start, start + length, name) for start, length, name in found]
    placed = lanes(bounds)
    for at, (start, end, _) in enumerate(bounds):
        for other in range(at):
            overlap = start < bounds[other][1] and bounds[other][0] < end
            assert not overlap or placed[at] != placed[other] or placed[at] == LANES - 1


def test_one_line() -> None:
    assert note_text("a <b> & c", [span(7, 2, 5, 2)], LABELS) == (
        '<div class="lines"><div class="line" id="L1"><span class="gutter" aria-hidden="true">1</span>'
        '<div class="line-text" dir="auto" data-start="0" data-end="9">a '
        '<span class="span hue-2 underline-2 lane-0" role="group" aria-label="&lt;TWO&gt; &amp; &quot;co&quot;"'
        ' data-span="7" data-label="&lt;TWO&gt; &amp; &quot;co&quot;">&lt;b&gt;</span> &amp; c</div></div>\n</div>'
    )


def test_blocks_end_with_the_line_that_fills_them() -> None:
    sizes = [block.count('class="line"') for block in note_text("a\n" * 50, [], LABELS).split('<div class="lines">')]
    assert sizes == [0, 24, 24, 3]
    long = note_text("\n".join(["x" * 2000] * 3 + ["y"]), [], LABELS)
    assert [block.count('class="line"') for block in long.split('<div class="lines">')] == [0, 2, 2]


def test_a_span_over_lines_and_crossing_spans() -> None:
    drawn = note_text("ab\r\ncd", [span(1, 1, 5), span(2, 0, 2, 2)], LABELS)
    pieces = re.findall(r'<span class="(span[^"]*)".*?aria-label="([^"]*)" data-span="(\d)"( data-label)?', drawn)
    two = html.escape(LABELS[1]["name"])
    assert [(piece, name, bool(chip)) for _, name, piece, chip in pieces] == [
        ("2", two, True), ("1", "ONE", True), ("2", f"{two}, continued", False), ("1", "ONE, continued", False),
    ]  # fmt: skip
    # A chip moves aside where another span starts at the same letter.
    drawn = note_text("abcd", [span(1, 0, 4), span(2, 0, 2, 2), span(3, 1, 2)], LABELS)
    assert re.findall(r'lane-(\d( is-stacked)?)"', drawn) == [("0", ""), ("1 is-stacked", " is-stacked"), ("2", "")]


def test_a_span_whose_label_was_deleted_is_still_drawn() -> None:
    assert 'data-label="?"' in note_text("abc", [span(1, 0, 3, 99)], LABELS)


TEXTS = st.text(st.sampled_from("ab \r\n<>&\"'\u2028😀\u0301\u05d0"), max_size=40)


def spans_in(text: str, found: list[tuple[int, int, int]]) -> list[SpanItem]:
    bounds = {(start, min(start + length, len(text)), name) for start, length, name in found if start < len(text)}
    return [span(pk, *each) for pk, each in enumerate(sorted(bounds))]


def lines_of(drawn: str) -> list[tuple[int, int, str]]:
    """Start, end and markup of each line."""
    rows = re.findall(r'data-start="(\d+)" data-end="(\d+)">(.*?)</div></div>', drawn, re.DOTALL)
    return [(int(start), int(end), markup) for start, end, markup in rows]


@given(TEXTS, PLACES)
def test_the_text_of_each_line_is_in_the_page_to_the_last_character(text, found):
    lines = lines_of(note_text(text, spans_in(text, found), LABELS))
    for start, end, markup in lines:
        assert html.unescape(re.sub(r"</?span[^<>]*>", "", markup)) == text[start:end]
    assert "".join(text[start:end] for start, end, _ in lines) == re.sub(r"[\r\n]", "", text)


# ── So many pieces that only innermost spans are drawn ───────────────────────────────────────────────────────────────

LINE = "parola lunga " * 7 + "parola\n"  # 98 characters
LIMIT = {
    # Each span begins ten characters after the one before, and nine are cut wherever one ends.
    "crossing": [(at * 10, at * 10 + 10 * DEEPEST) for at in range(MOST_SPANS)],
    # Nothing crosses; each inner span leaves a piece of the outer one on either side.
    "nested": [(at // 10 * 100 + at % 10, at // 10 * 100 + 90 - at % 10) for at in range(MOST_SPANS)],
    "nine over all lines": [
        *((at, 99_000 + at) for at in range(9)),
        *((at * 10, at * 10 + 5) for at in range(MOST_SPANS - 9)),
    ],
}


@pytest.mark.parametrize("kind", LIMIT)
def test_a_note_at_the_limit_has_few_bytes(kind: str) -> None:
    text = LINE * 1050
    names = [label(pk, f"{name}_LONG") for pk, name in enumerate(("PATIENT", "DOCTOR", "HOSPITAL", "STREET"))]
    spans = [span(10**6 + at, start, min(end, len(text)), at % 4) for at, (start, end) in enumerate(LIMIT[kind])]
    assert crowd_in([(each["start"], each["end"]) for each in spans]) is None
    drawn = note_text(text, spans, names)
    assert len(drawn) < 3_000_000
    assert ("only its innermost span" in drawn) == (kind == "crossing")


@given(TEXTS, PLACES)
def test_of_a_crowded_note_the_innermost_span_of_each_character_is_drawn(text, found):
    spans = spans_in(text, found)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(drawing_rules, "MOST_PIECES", -1)
        drawn = note_text(text, spans, LABELS)
    for at, end, markup in lines_of(drawn):
        shown = re.findall(r'<span [^<>]*data-span="(\d+)"[^<>]*>([^<]*)</span>|([^<]+)', markup)
        for pk, marked, plain in shown:
            for character in html.unescape(marked or plain):
                assert character == text[at]
                over = [each for each in spans if each["start"] <= at < each["end"]]
                shortest = min((each["end"] - each["start"] for each in over), default=None)
                if pk:
                    one = spans[int(pk)]
                    assert one in over and one["end"] - one["start"] == shortest
                else:
                    assert not over
                at += 1
        assert at == end
