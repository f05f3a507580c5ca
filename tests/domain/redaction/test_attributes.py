"""Which attributes the stretches of a released text have."""

from annotations.domain.redaction.attributes import attributes_of_pieces
from annotations.domain.redaction.policy import Action
from annotations.domain.redaction.released import Piece
from annotations.domain.spans import Span


def piece(start, end, label):
    return Piece(start, end, 0, 0, label, Action.MASK)


def span(start, end, label, **attributes):
    return Span(start, end, label, attributes=tuple(sorted(attributes.items())))


def test_a_stretch_has_the_attributes_of_its_longest_span_with_its_label():
    spans = [
        span(0, 4, "NAME", role="nurse"),
        span(2, 9, "NAME", role="patient", dead=True),
        span(3, 12, "CITY", old=True),
        span(20, 25, "NAME"),
        span(20, 25, "DATE", day="mon"),
    ]
    pieces = [piece(0, 12, "NAME"), piece(20, 25, "NAME"), piece(30, 31, "NAME")]
    assert attributes_of_pieces(pieces, spans) == [(("dead", True), ("role", "patient")), (), ()]


def test_of_two_equally_long_spans_the_earlier_one_counts():
    spans = [span(0, 4, "NAME", role="nurse"), span(2, 6, "NAME", role="patient")]
    assert attributes_of_pieces([piece(0, 6, "NAME")], spans) == [(("role", "nurse"),)]


def test_the_parts_of_a_kept_span_have_its_attributes():
    spans = [span(0, 20, "CITY", old=True), span(5, 9, "NAME", role="nurse")]
    pieces = [piece(0, 5, "CITY"), piece(5, 9, "NAME"), piece(9, 20, "CITY")]
    assert attributes_of_pieces(pieces, spans) == [(("old", True),), (("role", "nurse"),), (("old", True),)]
