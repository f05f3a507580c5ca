"""Expressions read a bounded stretch before their word. Where it begins, no word and no text begins."""

import pytest

from tests.backends.rules.helpers import otherwise


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("Que revive ", " con gusto en Mayorga"),  # not "vive"
        ("Revisado en conjunto por Ana-Castro", ", Pilar, y dado de alta."),  # a surname begins a line
        ("Trasladada en ambulancia McTarragona", ", Rosa, {AGE|54} años"),
        ("Vino con McTarragona", ", 54 años"),  # a capital within a word begins no name
        ("Ayer Valdeza", " Alto ({CITY|León}), vive."),  # a town begins a line
        ("Ayer Valdeza", " ({CITY|León}), vive."),
    ],
)
def test_the_length_of_a_word_changes_nothing(before: str, after: str) -> None:
    assert otherwise(*(f"{before}{'i' * length}{after}" for length in range(12, 60))) == []


def test_the_start_of_a_code_is_not_cut_off() -> None:
    assert otherwise("Revisado AAAAAAABCDE-1234567890-1234, ok") == []


def test_initials_begin_no_word_within_a_word() -> None:
    row = "Dra. {DOCTOR|Marta Lopeztegui}. Firma: {DOCTOR|Maria}A. {DOCTOR|B. Lopeztegui} hoy"
    assert otherwise(row) == []
