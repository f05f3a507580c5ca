"""Differences between two gold versions: examples and properties."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.domain.gold.gold_diff import ChangeKind, diff
from annotations.domain.spans import Span
from tests.domain.strategies import spans_of

CASES = [
    ([(0, 5, "A")], [(0, 5, "A")], []),
    ([], [(0, 5, "A")], [("added", None, (0, 5, "A"))]),
    ([(0, 5, "A")], [], [("removed", (0, 5, "A"), None)]),
    ([(0, 5, "A")], [(0, 5, "B")], [("relabeled", (0, 5, "A"), (0, 5, "B"))]),
    ([(0, 5, "A")], [(0, 9, "A")], [("moved", (0, 5, "A"), (0, 9, "A"))]),
    ([(0, 5, "A")], [(3, 9, "B")], [("replaced", (0, 5, "A"), (3, 9, "B"))]),
    # Touching is not overlapping.
    ([(0, 5, "A")], [(5, 9, "A")], [("removed", (0, 5, "A"), None), ("added", None, (5, 9, "A"))]),
    # An unchanged span is not paired with another one, even if it overlaps more.
    ([(0, 9, "A"), (0, 3, "B")], [(0, 9, "A"), (2, 8, "B")], [("moved", (0, 3, "B"), (2, 8, "B"))]),
    # As many pairs as possible: both spans get a partner.
    (
        [(0, 4, "A"), (5, 9, "A")],
        [(0, 9, "A"), (6, 8, "A")],
        [("moved", (0, 4, "A"), (0, 9, "A")), ("moved", (5, 9, "A"), (6, 8, "A"))],
    ),
]


def plain(span: Span | None) -> tuple[int, int, str] | None:
    return span and (span.start, span.end, span.label)


@pytest.mark.parametrize("before, after, expected", CASES)
def test_by_hand(before, after, expected) -> None:
    found = diff([Span(*values) for values in before], [Span(*values) for values in after])
    assert [(str(change.kind), plain(change.before), plain(change.after)) for change in found] == expected


@given(st.data())
def test_changes_lead_from_one_to_the_other_and_back(data) -> None:
    text = "x" * 30
    before, after = set(data.draw(spans_of(text, 10))), set(data.draw(spans_of(text, 10)))
    changes = diff(before, after)
    old = [change.before for change in changes if change.before]
    new = [change.after for change in changes if change.after]
    assert (before - set(old)) | set(new) == after
    assert sorted(old) == sorted(before - after) and sorted(new) == sorted(after - before)
    turned = {ChangeKind.ADDED: ChangeKind.REMOVED, ChangeKind.REMOVED: ChangeKind.ADDED}
    back = [turned.get(change.kind, change.kind) for change in diff(after, before)]
    assert sorted(back) == sorted(change.kind for change in changes)


def test_a_span_whose_attributes_alone_changed() -> None:
    plain_one, past = Span(0, 5, "A"), Span(0, 5, "A", attributes=(("Status", "past"),))
    assert diff([past], [past]) == []
    (change,) = diff([plain_one, Span(7, 9, "B")], [past, Span(7, 9, "B")])
    assert change.kind is ChangeKind.ATTRIBUTES
    assert change.after is not None and change.after.attributes == (("Status", "past"),)
