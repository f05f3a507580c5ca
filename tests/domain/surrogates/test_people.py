"""Names in their parts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotations.domain.redaction.kinds import Kind
from annotations.domain.surrogates.people import FAMILY, GIVEN, field_of, read_person, title_before
from annotations.domain.surrogates.templates import slots

NAMES = [
    ("en", "Dr. Adam Wilson", ["adam"], ["wilson"], "m"),  # a title stays outside
    ("en", "Wilson, Adam J.", ["adam", "j"], ["wilson"], "m"),  # surname first
    ("en", "A.W.", ["a"], ["w"], ""),  # initials
    ("en", "MRG", ["m", "r"], ["g"], ""),  # initials without periods
    ("en", "Wilson's", [], ["wilson"], ""),  # possessive
    ("en", "Sean O'Brien", ["sean"], ["o brien"], "m"),  # an apostrophe inside
    ("en", "Mrs. Wilson", [], ["wilson"], "f"),  # gender of the title
    ("es", "María de los Ángeles López Ruiz", ["maria", "angeles"], ["lopez", "ruiz"], "f"),  # a devotion is given
    ("es", "Juan José de la Torre", ["juan", "jose"], ["torre"], "m"),  # particles stay outside
    ("es", "Ramos Lopez", [], ["ramos", "lopez"], ""),  # two surnames
    ("es", "Patricia Hidalgo-Collazos", ["patricia"], ["hidalgo", "collazos"], "f"),  # joined surnames
    ("es", "Don Antonio", ["antonio"], [], "m"),  # Don stands before a given name
    ("es", "M.ª José Tapia", ["jose"], ["tapia"], "f"),  # short for María
    ("en", "VAN DYKE", ["van"], ["dyke"], ""),  # the first of two words in capitals is no particle
    ("it", "Anna E Rossi", ["anna", "e"], ["rossi"], "f"),  # nor is a capital letter
    ("it", "Rossi Mario", ["mario"], ["rossi"], "m"),  # reversed order
    ("it", "Dott.ssa Lucia Di Stefano", ["lucia"], ["stefano"], "f"),
]


@pytest.mark.parametrize(("language", "text", "first", "last", "gender"), NAMES)
def test_parts(language: str, text: str, first: list[str], last: list[str], gender: str) -> None:
    found = read_person(text, language)
    last = [word.replace(" ", "") for word in last]
    assert (list(found.given), list(found.family), found.gender) == (first, last, gender)


@pytest.mark.parametrize("piece", ["A. ", "Dr. ", "de ", "Wilson ", "é", "a@a."])
def test_a_text_of_many_thousand_words_is_no_name(piece: str) -> None:
    """Reading it as one would take minutes."""
    text = (piece * 100_000)[:100_000]
    assert read_person(text, "es").parts == ()
    for kind in (Kind.HOSPITAL, Kind.STREET, Kind.CITY):
        assert [(slot.start, slot.end) for slot in slots(text, kind, "es")] == [(0, len(text))]


@given(st.text(max_size=60), st.sampled_from(["en", "es", "it", ""]))
def test_parts_lie_in_the_text_in_order(text: str, language: str) -> None:
    end = 0
    for part in read_person(text, language).parts:
        assert end <= part.start < part.end <= len(text)
        assert text[part.start : part.end] == part.text
        end = part.end


@pytest.mark.parametrize(
    ("before", "found"),
    [
        ("Apellidos: ", FAMILY),
        ("Nombre: ", GIVEN),
        ("Cognome ", FAMILY),
        ("First name: ", GIVEN),
        ("Nombre y apellidos: ", ""),
        ("paciente ", ""),
    ],
)
def test_fields(before: str, found: str) -> None:
    assert field_of(before) == found


def test_titles_before_a_mention() -> None:
    assert [title_before(text) for text in ("vista por la Dra. ", "by Dr. ", "paciente ")] == ["f", "", None]
