"""Numbers and offices of decisions: Salierno et al. 2024, table 3 and section 5.1."""

import pytest

from annotations.pairs.rules.numbers import decision_key, is_published, numbers_in


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("1/Apple", ["1/APPLE"]),  # the first pattern of table 3
        ("1/2/Apple", ["1/2/APPLE"]),  # the second one, which is no number 2/Apple
        ("nr. 14270/C,R.G. e nr. 14270/C.R.G.", ["14270/C"]),  # tables 4 and 5 write one number in two ways
        ("nr. 5/a, 6/A, 5/A", ["5/A", "6/A"]),
        ("del 12/03/2021", []),
    ],
)
def test_the_patterns_of_table_3(text, numbers):
    assert numbers_in(text) == numbers


OFFICE = "Corte dei conti\nSezione giurisdizionale per la Regione Toscana\nSentenza "


@pytest.mark.parametrize(
    ("clear", "published", "fits"),
    [
        (f"{OFFICE}14270/C,R.G.", f"{OFFICE}14270/C.R.G.", True),
        (f"{OFFICE}1/C", f"{OFFICE}2/C", False),
        # The same number at another office is another decision; the rest of the line doesn't matter.
        (f"{OFFICE}1/C", f"{OFFICE}1/C".replace("Toscana", "Lazio"), False),
        (f"{OFFICE}1/C", f"{OFFICE}1/C".replace("Toscana", "TOSCANA composta dai magistrati"), True),
        (f"{OFFICE}1/C", "Sentenza 1/C", True),  # no office in one of them
        # A citation behind the heading doesn't count where the headings have numbers.
        (f"{OFFICE}1/C{'.' * 1000} 7/C", f"{OFFICE}2/C{'.' * 1000} 7/C", False),
        (f"{OFFICE}{'.' * 1000} 7/C 8/C", f"{OFFICE}{'.' * 1000} 8/C 7/C", True),
        (f"{OFFICE}{'.' * 1000} 7/C 8/C", f"{OFFICE}{'.' * 1000} 7/C", False),
        (OFFICE, OFFICE, False),
    ],
)
def test_the_heading_decides_first(clear, published, fits):
    assert decision_key(clear).fits(decision_key(published)) is fits
    assert decision_key(published).fits(decision_key(clear)) is fits


def test_omissis_is_a_token_in_capitals():
    assert is_published("Sig. OMISSIS, nato") and not is_published("Sig. omissis") and not is_published("OMISSISX")
