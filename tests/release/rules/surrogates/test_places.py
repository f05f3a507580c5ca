"""Places by country, and what is replaced in names of places and institutions."""

import random
import re

import pytest

from annotations.release.rules.redaction.policy import IdentifierType as Kind
from annotations.release.rules.surrogates.gazetteers import Chain
from annotations.release.rules.surrogates.places import areas, areas_in, capital, of_country, zip_in
from annotations.release.rules.surrogates.templates import acronym_of, distinctive, slots


@pytest.mark.parametrize(("country", "count"), [("es", 52), ("it", 107), ("us", 51), ("gb", 44)])
def test_every_area_has_places_and_zip_codes(country: str, count: int) -> None:
    found = of_country(country)
    assert len(found) == count
    for area in found:
        assert area.names and area.regions
        for city in (capital(area), list(area.cities)[-1]):
            code = zip_in(random.Random(1), area, city, "AB1 2CD" if country == "gb" else "12345")
            assert area.key in areas_in(code, country), (area.key, city, code)
    # Italian particles are small.
    assert country != "it" or not [
        city for area in found for city in area.cities if re.search(r" (Di|Del|Della) ", city)
    ]
    assert "Reggio Emilia" in areas()["it:RE"].names


TEXTS = [
    ("28015 Madrid", "es", {"es:28"}), ("Cataluña", "es", {"es:08", "es:17", "es:25", "es:43"}),
    ("Santiago de Compostela", "es", {"es:15"}),  # the longest name counts
    ("20121 Milano", "it", {"it:MI"}), ("Boston", "us", {"us:MA", "gb:Lincolnshire"}),
    ("SW1A 1AA", "us", set()),  # of no listed place
    ("OX1 2JD", "us", {"gb:Oxfordshire"}), ("carpintero", "es", set()),
]  # fmt: skip


@pytest.mark.parametrize(("text", "country", "found"), TEXTS)
def test_areas_in_a_text(text: str, country: str, found: set[str]) -> None:
    assert areas_in(text, country) == found


SLOTS = [
    ("es", Kind.HOSPITAL, "Hospital Universitario La Paz", ["Paz"]),
    ("es", Kind.HOSPITAL, "Hospital 12 de Octubre", ["12", "Octubre"]),
    ("es", Kind.HOSPITAL, "Hospital General de Valencia", ["Valencia"]),
    ("es", Kind.STREET, "C/ Marqués de Viana,  86, 3º D", ["Marqués", "Viana", "86", "3", "D"]),
    ("es", Kind.STREET, "Ctra. Madrid-Cartagena, s/n", ["Madrid", "Cartagena"]),
    ("es", Kind.LOCATION, "Las palmas", ["Las palmas"]),
    ("es", Kind.LOCATION, "Calle Mayor 3, 28015 Madrid", ["Mayor", "3", "28015", "Madrid"]),
    ("en", Kind.LOCATION, "123 Oak Street, Boston, MA 02115", ["123", "Oak", "Boston", "MA", "02115"]),
    ("en", Kind.STREET, "9 Elm Ct, Palo Alto, CA 94301", ["9", "Elm", "Palo Alto", "CA", "94301"]),
    ("en", Kind.LOCATION, "Reno, NV 89501, USA", ["Reno", "NV", "89501"]),  # the country stays
    ("es", Kind.LOCATION, "Toledo, España", ["Toledo"]),
    ("it", Kind.STREET, "20121 Milano (BO)", ["20121", "Milano", "BO"]),
    ("it", Kind.CITY, "Reggio Emilia", ["Reggio Emilia"]),
    ("es", Kind.ORGANIZATION, "Facultad de Ciencias de la Salud", ["Salud"]),  # something must change
]


@pytest.mark.parametrize(("language", "kind", "text", "replaced"), SLOTS)
def test_what_is_replaced(language: str, kind: Kind, text: str, replaced: list[str]) -> None:
    assert [slot.text for slot in slots(text, kind, language)] == replaced


def test_what_tells_institutions_apart() -> None:
    assert distinctive("Hospital Universitario Miguel Servet", "es") == distinctive("Hospital Miguel Servet", "es")
    assert acronym_of("Hospital Universitario de la Princesa") == "HUP"


# ── Made-up names ────────────────────────────────────────────────────────────────────────────────────────────────────


WORDS = ("Marino", "Martino", "Marchetti", "Mariani", "Moretti", "Monti", "Montanari", "Ferrari", "Ferri", "Fontana")


def test_made_up_words_stay_the_same() -> None:
    """Otherwise a project's surrogates would change."""
    source, chain = random.Random(18), Chain(WORDS)
    assert [chain.coin(source, "Marino") for _ in range(4)] == ["Montana", "Montana", "Fonti", "Montana"]


def test_a_made_up_word_is_none_of_the_list() -> None:
    chain, source = Chain(WORDS), random.Random(7)
    made = {chain.coin(source, "Marino") for _ in range(200)}
    assert len(made) > 2 and not {word.lower() for word in made} & {word.lower() for word in WORDS}
