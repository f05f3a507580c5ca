"""Comparison of several authors: the figures of each are its own score, and gold spans are sorted by who found them."""

from hypothesis import given

from annotations.scores.rules import Scorer
from annotations.scores.rules.side_by_side import MISSED, UNTOUCHED, SideBySide
from annotations.text.spans import Span
from tests.text.strategies import texts_with_spans

TEXT = "Mario Rossi, 54 anni, visto a Torino dal dott. Bianchi."
ROSSI, AGE, CITY, DOCTOR = Span(0, 11, "PER"), Span(13, 15, "AGE"), Span(30, 36, "LOC"), Span(47, 54, "PER")
LABELS = {"PER": "NAME", "AGE": "AGE", "LOC": "LOC"}


def test_who_found_what():
    both = SideBySide(["a", "b"], list(LABELS), LABELS)
    found = both.add(
        TEXT, [ROSSI, AGE, CITY, DOCTOR], {"a": [ROSSI, AGE, Span(30, 33, "LOC")], "b": [ROSSI, Span(29, 36, "LOC")]}
    )
    rows = [(one.kind, one.gold[:2], one.near and one.near[:2]) for one in found]
    assert rows == [("only:a", (13, 15), (13, 15)), (MISSED, (30, 36), (29, 36)), (UNTOUCHED, (47, 54), None)]
    assert both.missed() == {"missed_by_all": 2, "untouched": 1}
    assert [both.table(author)["only"] for author in "ab"] == [1, 0]
    assert both.table("b")["table"]["characters"]["found"] == 11 + 6


def test_equal_bounds_with_another_label_are_missed_but_not_untouched():
    both = SideBySide(["a", "b"], list(LABELS), LABELS)
    (one,) = both.add(TEXT, [CITY], {"a": [Span(30, 36, "PER")], "b": []})
    assert (one.kind, one.near) == (MISSED, (30, 36, "PER"))


def test_spans_that_all_authors_found_are_not_listed():
    both = SideBySide(["a", "b"], list(LABELS), LABELS)
    assert both.add(TEXT, [ROSSI], {"a": [ROSSI], "b": [ROSSI, AGE]}) == []


@given(texts_with_spans(), texts_with_spans())
def test_each_author_has_the_figures_of_its_own_score(one, other):
    text, gold = one
    spans = [span for span in other[1] if span.end <= len(text)]
    order = sorted({span.label for span in [*gold, *spans]}) or ["X"]
    category_of = dict.fromkeys(order, "C")
    both = SideBySide(["a", "b"], order, category_of)
    both.add(text, gold, {"a": spans, "b": gold})
    alone = Scorer(order, category_of)
    alone.add(text, gold, spans)
    table = both.table("a")["table"]
    table.pop("characters")
    assert table == alone.table()
