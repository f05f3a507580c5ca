"""Ages over 89, aggregated."""

import pytest

from annotations.domain.redaction.ages import generalized_age


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("89 años", "89 años"),
        ("90 años", "90+ años"),
        ("92-year-old", "90+-year-old"),
        ("102", "90+"),
        ("95 y.o.", "90+ y.o."),
        ("in his 90s", "in his 90+"),
        ("85-95", "85-90+"),
        ("92 y 88 años", "90+ y 88 años"),
        ("18 months", "18 months"),
        ("100 meses", "100 meses"),
        ("40 días", "40 días"),
        ("1,5 años", "1,5 años"),
        ("ninety-two", "over 89"),
        ("one hundred and two", "over 89"),
        ("noventa y dos años", "más de 89 años"),
        ("novantadue anni", "oltre 89 anni"),
        ("diez años", "diez años"),
        ("trentadue anni", "trentadue anni"),
        ("forty-five", "forty-five"),
    ],
)
def test_ages_over_89_are_aggregated_and_others_stay(text: str, expected: str) -> None:
    assert generalized_age(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "1928",  # a year
        "elderly",
        "lattante",
        "recién nacido",
        "1100 months",
        "92 M",  # months, or male
        "Ann, 45 years",
        "",
    ],
)
def test_what_is_no_age_that_can_be_read_is_none(text: str) -> None:
    assert generalized_age(text) is None
