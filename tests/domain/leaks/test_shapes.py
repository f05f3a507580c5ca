"""Telephone numbers by their shape; values, dates and doses have none."""

import pytest

from annotations.domain.leaks.shapes import telephones


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Tel. 915 12 34 56, fax: 91-512-34-57", {"915 12 34 56", "91-512-34-57"}),
        ("Teléfonos: 56-2-3543462", {"56-2-3543462"}),
        ("call +34 915123456 or 0039 02 5550 1234", {"+34 915123456", "0039 02 5550 1234"}),
        ("915123456 / 600 123 456", {"915123456", "600 123 456"}),
        ("(555) 201-8834; 555.201.8834", {"(555) 201-8834", "555.201.8834"}),
        ("06 12345678, 347 1234567", {"06 12345678", "347 1234567"}),
        ("12/03/2021 10:30, TA 120/80, plaquetas 250000, 250.000, 1.234.567, 36,8 mg/dl", set()),
        ("1 2 3 4 5 6 7 8 9, PSA 0.012345678, 123456789", set()),
        ("telar 12", set()),
    ],
)
def test_telephone_numbers_are_found_by_their_shape(text: str, expected: set[str]) -> None:
    assert {text[start:end] for start, end in telephones(text)} == expected
