"""Places, generalized."""

import pytest

from annotations.domain.redaction.places import SMALL_ZIPS, region_of, short_zip


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("BOSTON", "en", "Massachusetts"),
        ("Boston, MA", "en", "Massachusetts"),
        ("ma", "en", "Massachusetts"),
        ("Madrid", "es", "Comunidad de Madrid"),
        ("Vizcaya", "es", "País Vasco"),
        ("Lerida", "es", "Cataluña"),
        ("Forlì", "it", "Emilia-Romagna"),
        ("Boston", "it", "Massachusetts"),
        ("Toledo", "es", "Castilla-La Mancha"),
        ("Toledo", "en", "Ohio"),
        ("Toledo", "it", None),  # two countries have it, and none of them is the note's
        ("Boston, Toledo", "en", None),  # two states
        ("Nowhere", "en", None),
        ("", "en", None),
    ],
)
def test_a_place_becomes_its_region(text: str, language: str, expected: str | None) -> None:
    assert region_of(text, language) == expected


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("02139", "en", "021"),
        ("02139-4307", "en", "021"),
        ("02139-4307", "es", "021"),
        ("03601", "en", "000"),
        ("28029", "es", None),
        ("28029", "", None),
        ("0213", "en", None),
        ("02139x", "en", None),
    ],
)
def test_a_zip_code_becomes_three_digits(text: str, language: str, expected: str | None) -> None:
    assert short_zip(text, language) == expected


def test_seventeen_areas_have_few_people() -> None:
    assert len(SMALL_ZIPS) == 17
