"""What an auditor reads, and where it is in the original."""

import pytest

from annotations.release.rules.audits.shown import AuditedText, PartKind, can_plant
from annotations.release.rules.redaction.policy import Action
from annotations.release.rules.redaction.released import ReplacedPiece

ORIGINAL = "Dr. Adam Wilson, 45, saw 😀 Eve on 3/14."
RELEASED = "Dr. [NAME], 45, saw 😀  on 2019."
ADAM, AGE, DAY = (4, 15), (17, 19), (34, 38)
PIECES = [
    ReplacedPiece(4, 15, 4, 10, "NAME", Action.MASK), ReplacedPiece(17, 19, 12, 14, "AGE", Action.KEEP),
    ReplacedPiece(27, 30, 22, 22, "NAME", Action.REMOVE), ReplacedPiece(34, 38, 26, 30, "DATE", Action.GENERALIZE),
]  # fmt: skip


def shown(planted: tuple[int, int] | None = None) -> AuditedText:
    return AuditedText(ORIGINAL, RELEASED, PIECES, planted)


def test_without_a_planted_leak_the_released_text_is_shown() -> None:
    page = shown()
    parts = [(part.kind, page.text[part.start : part.end]) for part in page.parts if part.kind != PartKind.SAME]
    assert page.text == RELEASED
    assert parts == [
        (PartKind.REPLACED, "[NAME]"), (PartKind.KEPT, "45"), (PartKind.REPLACED, ""), (PartKind.REPLACED, "2019"),
    ]  # fmt: skip
    # A planted leak that the release no longer replaces is not shown.
    assert (shown((4, 8)).planted, shown((4, 8)).text) == (None, RELEASED)
    assert [can_plant(ORIGINAL, RELEASED, piece) for piece in PIECES] == [True, False, True, True]
    assert not can_plant("a - b", "a - b", ReplacedPiece(2, 3, 2, 3, "NAME", Action.MASK))


def test_a_planted_leak_looks_like_text_that_was_left() -> None:
    page = shown(ADAM)
    assert page.text == RELEASED.replace("[NAME]", "Adam Wilson")
    assert page.parts[0].kind == PartKind.SAME and page.parts[0].end == 17  # no border around the name
    assert page.planted == ADAM


def test_masks_beside_a_planted_leak_have_numbers_without_a_gap() -> None:
    original, released = "Ann, Bob, Eve, Ann, Eve", "[NAME 1], [NAME 2], [NAME 3], [NAME 1], [NAME 3]"
    pieces = [ReplacedPiece(at * 5, at * 5 + 3, at * 10, at * 10 + 8, "NAME", Action.MASK) for at in range(5)]
    found = [AuditedText(original, released, pieces, (at, at + 3), ["NAME"]) for at in (5, 0)]
    assert [one.text for one in found] == [
        "[NAME 1], Bob, [NAME 2], [NAME 1], [NAME 2]",
        "Ann, [NAME 1], [NAME 2], [NAME 3], [NAME 2]",  # in the order of the text
    ]
    assert found[0].to_shown(20, 23) == (35, 43)
    # Without a plant, and where the number is the placeholder's own, they stay.
    assert AuditedText(original, released, pieces, None, ["NAME"]).text == released
    assert AuditedText(original, released, pieces, (5, 8)).text == released.replace("[NAME 2]", "Bob")


def test_places_go_back_and_forth() -> None:
    page = shown()
    places = {
        "saw": (21, 24), "😀": (25, 26), "[NAME], 45": (4, 19), "AME": (4, 15), " on": (30, 33), "2019.": (34, 39)
    }  # fmt: skip
    for words, bounds in places.items():
        start = page.text.index(words)
        assert page.to_original(start, start + len(words)) == bounds
    page = shown(ADAM)
    for words in ("Dr.", "Adam", "Adam Wilson", "45", "saw 😀"):
        start = page.text.index(words)
        begin, end = page.to_original(start, start + len(words))
        assert ORIGINAL[begin:end] == words and page.to_shown(begin, end) == (start, start + len(words))
    for start, end in ((3, 3), (-1, 2), (0, 99)):
        with pytest.raises(ValueError, match="leaves the text"):
            shown().to_original(start, end)


def test_replaced_text_cannot_leak_again() -> None:
    page = shown()
    assert page.is_replaced(4, 15) and page.is_replaced(27, 33 - 3)
    assert not page.is_replaced(0, 15) and not page.is_replaced(17, 19) and not shown(ADAM).is_replaced(4, 15)


def test_marks_of_planted_leaks() -> None:
    page = shown(ADAM)
    assert page.finds_planted(9, 15) and page.finds_planted(0, 15) and not page.finds_planted(17, 19)
    # The title beside the planted name is no leak; a number or a long word is.
    assert not page.is_leak(0, 15) and not page.is_leak(9, 12) and page.is_leak(4, 19)
    assert page.is_leak(21, 24)
    assert not shown(DAY).is_leak(27, 38)  # the removed name before it
