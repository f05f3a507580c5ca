"""Labels as an export writes them: other codes, equal spans, spans left out."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.domain.formats.base import OutNote
from annotations.domain.labels import CategoryDef, LabelDef, LabelSetDef
from annotations.domain.spans import Span
from annotations.domain.written_labels import rewritten, written_set

CODES = {"PATIENT": "NAME", "DOCTOR": "NAME", "DATE": "DATE", "AGE": ""}


def note(*spans):
    return OutNote("a", "x" * 40, spans)


@pytest.mark.parametrize(
    ("spans", "kept", "merged"),
    [
        ([], [], 0),
        # Other offsets or another written label: both stay.
        ([Span(0, 4, "PATIENT"), Span(0, 5, "DOCTOR")], [Span(0, 4, "PATIENT"), Span(0, 5, "DOCTOR")], 0),
        ([Span(0, 4, "PATIENT"), Span(0, 4, "DATE")], [Span(0, 4, "PATIENT"), Span(0, 4, "DATE")], 0),
        # Equal as written: the span whose label comes first stands for both, whatever their order in the note.
        ([Span(0, 4, "DOCTOR"), Span(0, 4, "PATIENT")], [Span(0, 4, "PATIENT")], 1),
        # Left out spans merge with nothing.
        ([Span(0, 4, "AGE"), Span(0, 4, "PATIENT")], [Span(0, 4, "PATIENT")], 0),
        # A label that the codes lack is written as it is.
        ([Span(0, 4, "OTHER")], [Span(0, 4, "OTHER")], 0),
    ],
)
def test_spans_that_become_equal_are_written_once(spans, kept, merged):
    done = rewritten(note(*spans), CODES)
    assert list(done.note.spans) == kept and done.merged == merged and not done.losses
    assert done.written == Counter(CODES.get(span.label, span.label) for span in kept)
    assert done.left_out == Counter(span.label for span in spans if span.label == "AGE")


def test_attributes_of_a_merged_span_are_a_loss():
    known, doubtful = Span(0, 4, "PATIENT"), Span(0, 4, "DOCTOR", attributes=(("doubtful", True),))
    done = rewritten(note(doubtful, known), CODES)
    assert [loss.span for loss in done.losses] == [doubtful] and done.losses[0].span.attributes
    assert "“PATIENT”" in done.losses[0].reason and "“NAME”" in done.losses[0].reason
    assert not rewritten(note(doubtful), CODES).losses


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(1, 4), st.sampled_from([*CODES, "OTHER"])), max_size=30))
def test_every_span_is_written_merged_or_left_out(rows):
    spans = {Span(start, start + length, label) for start, length, label in rows}
    done = rewritten(note(*spans), CODES)
    assert done.written.total() + done.merged + done.left_out.total() == len(spans)
    keys = [(one.start, one.end, CODES.get(one.label, one.label)) for one in done.note.spans]
    assert len(set(keys)) == len(keys) == done.written.total()


NAMES = CategoryDef("C0", "Names", (LabelDef("PATIENT", "Patient", "1"), LabelDef("DOCTOR", "Doctor", "2")))
OTHERS = CategoryDef("C1", "Others", (LabelDef("DATE", "Date"), LabelDef("AGE", "Age")))
OURS = LabelSetDef("ours", "Ours", "", "", (), (NAMES, OTHERS))
THEIRS = LabelSetDef("theirs", "Theirs", "", "", (), (CategoryDef("P", "Persons", (LabelDef("NAME", "Full name"),)),))


def test_the_written_set_has_the_categories_and_names_of_the_target():
    found = written_set(OURS, CODES, THEIRS)
    assert [(group.name, [(one.code, one.name) for one in group.labels]) for group in found.categories] == [
        ("Persons", [("NAME", "Full name")]),
        ("Others", [("DATE", "Date")]),
    ]
    assert found.key == "theirs"


def test_without_a_target_codes_stay_in_the_category_of_their_first_label():
    found = written_set(OURS, CODES | {"DATE": "WHEN"}, None)
    assert [(group.name, [(one.code, one.name, one.hotkey) for one in group.labels]) for group in found.categories] == [
        ("Names", [("NAME", "NAME", "1")]),
        ("Others", [("WHEN", "WHEN", "")]),
    ]
