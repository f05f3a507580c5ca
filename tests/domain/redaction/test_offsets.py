"""Places inside pieces, which correspond to no place of the other text."""

from annotations.domain.redaction.offsets import span_to_original, span_to_released, to_original, to_released
from annotations.domain.redaction.policy import Action
from annotations.domain.redaction.released import Piece

# "ab XXXX cd YY ef" became "ab [X] cd ef".
PIECES = [Piece(3, 7, 3, 6, "X", Action.MASK), Piece(10, 13, 9, 9, "Y", Action.REMOVE)]


def test_an_offset_inside_a_piece_goes_to_its_start() -> None:
    assert [to_released(PIECES, at) for at in (0, 3, 5, 7, 9, 11, 13, 16)] == [0, 3, 3, 6, 8, 9, 9, 12]
    assert [to_original(PIECES, at) for at in (0, 3, 5, 6, 8, 9, 12)] == [0, 3, 3, 7, 9, 13, 16]


def test_a_span_that_touches_the_inside_of_a_piece_covers_all_of_it() -> None:
    assert span_to_released(PIECES, 4, 5) == (3, 6)
    assert span_to_released(PIECES, 1, 9) == (1, 8)
    assert span_to_released(PIECES, 11, 12) == (9, 9)
    assert span_to_original(PIECES, 4, 5) == (3, 7)
    assert span_to_original(PIECES, 1, 8) == (1, 9)
    assert span_to_original(PIECES, 8, 10) == (9, 14)
    assert span_to_original(PIECES, 9, 9) == (13, 13)
