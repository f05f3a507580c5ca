"""A surrogate in the form of each mention."""

import pytest

from annotations.domain.redaction.kinds import Kind
from annotations.domain.surrogates.pipeline import Surrogate
from tests.domain.surrogates.worlds import form, person

CHANG = person("Kevin", "Chang", gender="m")
GIL = person("Jaime", "Gómez", family2="Vega", gender="m")

FORMS = [
    ("en", CHANG, "Wilson", "Chang"),
    ("en", CHANG, "Dr. Adam Wilson", "Dr. Kevin Chang"),  # the title stays
    ("en", CHANG, "WILSON", "CHANG"),
    ("en", CHANG, "adam wilson", "kevin chang"),
    ("en", CHANG, "A.W.", "K.C."),
    ("en", CHANG, "A. Wilson", "K. Chang"),
    ("en", CHANG, "Wilson, Adam", "Chang, Kevin"),  # order and comma
    ("en", CHANG, "Wilson's", "Chang's"),
    ("en", CHANG, "Adam\n  Wilson", "Kevin\n  Chang"),  # a line break inside
    ("en", CHANG, "Adam Wilson, MD", "Kevin Chang, MD"),  # a title behind
    ("es", GIL, "Dr. Adán Pérez de la Cruz", "Dr. Jaime Gómez de la Vega"),  # particles stay
    ("es", GIL, "Adán Pérez-Ruiz", "Jaime Gómez-Vega"),  # the hyphen stays
    ("es", GIL, "Adan Perez Ruiz", "Jaime Gomez Vega"),  # without accents where the mention leaves them out
    ("es", GIL, "PÉREZ RUIZ", "GÓMEZ VEGA"),
    ("it", person("Carlo", "Greco", gender="m"), "Rossi Mario", "Greco Carlo"),  # reversed order
    ("it", person("Anna", "Greco", gender="f"), "Dott.ssa Lucia Bianchi", "Dott.ssa Anna Greco"),
]


@pytest.mark.parametrize(("language", "surrogate", "mention", "new"), FORMS)
def test_form(language: str, surrogate: Surrogate, mention: str, new: str) -> None:
    others = {"en": ["Adam Wilson"], "es": ["Adán Pérez Ruiz"], "it": ["Mario Rossi"]}[language]
    if "Cruz" in mention or "Bianchi" in mention:
        others = []
    assert form(surrogate, mention, *others, language=language) == new


def test_a_second_surname_alone_gets_the_second_surname() -> None:
    assert form(GIL, "Ruiz", "Adán Pérez Ruiz", language="es") == "Vega"


def test_a_part_that_the_surrogate_lacks_is_always_the_same() -> None:
    first = form(CHANG, "Adam Wilson Baker", language="en")
    assert first.startswith("Kevin Chang ")
    assert len(first.split()) == 3
    assert form(CHANG, "Adam Wilson Baker", language="en") == first


@pytest.mark.parametrize(
    ("mention", "new"),
    [
        ("917 27 00 83", "995 12 34 56"),  # separators of the mention
        ("917270083", "995123456"),
        ("+34 917270083", "995123456"),  # more digits than the surrogate has: as it is
        ("27 00 83", "12 34 56"),  # fewer: the last ones
    ],
)
def test_numbers_take_the_separators_of_the_mention(mention: str, new: str) -> None:
    assert form(Surrogate(Kind.PHONE, {"value": "995123456"}), mention, language="es") == new


def test_hospitals_keep_the_words_of_their_type() -> None:
    surrogate = Surrogate(Kind.HOSPITAL, {"s0": "Luis", "s1": "Vega", "value": "Hospital Universitario Luis Vega"})
    full = "Hospital Universitario Miguel Servet"
    assert form(surrogate, full, language="es") == "Hospital Universitario Luis Vega"
    assert form(surrogate, "Hospital Miguel Servet", full, language="es") == "Hospital Luis Vega"
    assert form(surrogate, "Servet", full, language="es") == "Vega"
    assert form(surrogate, "HUMS", full, language="es") == "HULV"
