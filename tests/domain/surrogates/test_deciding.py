"""Which entity of the index a cluster is, and the keys by which it is found."""

import pytest

from annotations.domain.redaction.kinds import Kind
from annotations.domain.surrogates.deciding import RuleDecider, identities, surrogate_key
from annotations.domain.surrogates.pipeline import Indexed, Surrogate
from tests.domain.surrogates.worlds import clusters, one, person

STAFF = Surrogate(Kind.STAFF, {"given": "Kevin", "family": "Chang", "gender": "m"})

DECISIONS = [
    # a full name is the same person for all patients
    (Kind.STAFF, ["Dr. Adam Wilson"], ["Adam Wilson"], False, True),
    (Kind.STAFF, ["Wilson, Adam"], ["Adam J. Wilson"], False, True),
    # a surname or initials only among one patient's notes
    (Kind.STAFF, ["Dr. Wilson"], ["Adam Wilson"], False, False),
    (Kind.STAFF, ["Dr. Wilson"], ["Adam Wilson"], True, True),
    (Kind.STAFF, ["A. Wilson"], ["Adam Wilson"], False, False),
    (Kind.STAFF, ["Adam Wilson"], ["Wilson"], False, False),
    # names or gender that contradict
    (Kind.STAFF, ["Mary Wilson"], ["Adam Wilson"], True, False),
    (Kind.STAFF, ["Mrs. Wilson"], ["Adam Wilson"], True, False),
    (Kind.STAFF, ["Adam Wilson"], ["Adam Miller"], True, False),
    # a patient who is staff
    (Kind.NAME, ["Adam Wilson"], ["Adam Wilson"], False, True),
    (Kind.NAME, ["Wilson"], ["Adam Wilson"], True, False),
]


@pytest.mark.parametrize(("kind", "forms", "known", "own", "same"), DECISIONS)
def test_people(kind: Kind, forms: list[str], known: list[str], own: bool, same: bool) -> None:
    entity = Indexed(1, Kind.STAFF, known, STAFF, own=own)
    assert (RuleDecider().decide(one(kind, *forms), [entity]) is entity) is same


def test_a_name_in_fields_of_a_form_is_found_again() -> None:
    (found,) = clusters("Nombre: [name:Ernesto]. Apellidos: [name:Barrantes Quezada].", language="es")
    entity = Indexed(1, Kind.NAME, found.forms, Surrogate(Kind.NAME, {"given": "Ana", "family": "Gil"}), own=True)
    assert RuleDecider().decide(found, [entity]) is entity


def test_other_kinds_need_an_equal_form() -> None:
    city = Indexed(1, Kind.CITY, ["Ávila"], Surrogate(Kind.CITY, {"value": "Soria"}))
    hospital = Indexed(2, Kind.HOSPITAL, ["Hospital La Paz"], Surrogate(Kind.HOSPITAL, {"value": "Hospital La Fe"}))
    decide = RuleDecider().decide
    assert decide(one(Kind.CITY, "AVILA", language="es"), [hospital, city]) is city
    assert decide(one(Kind.CITY, "Soria", language="es"), [hospital, city]) is None
    assert decide(one(Kind.HOSPITAL, "Hospital Universitario La Paz", language="es"), [city, hospital]) is hospital
    assert decide(one(Kind.REGION, "Ávila", language="es"), [city]) is None


def test_identities_are_the_full_name_and_the_surnames() -> None:
    assert identities(one(Kind.STAFF, "Dr. Adam J. Wilson", "Wilson")) == ["adam j wilson", "adam wilson", "wilson"]
    assert identities(one(Kind.NAME, "María", language="es")) == ["maria"]
    assert identities(one(Kind.PHONE, "917 27 00 83", "917270083", language="es")) == ["917270083"]
    assert identities(one(Kind.HOSPITAL, "Hospital La Paz", language="es")) == ["hospital la paz", "paz"]


def test_people_with_one_full_name_share_a_key() -> None:
    assert surrogate_key(person("Kévin", "Chang", gender="m")) == surrogate_key(STAFF)
    assert surrogate_key(person("Kevin", "Chang", family2="Lee", given2="J.")) == "kevin j chang lee"
    assert surrogate_key(Surrogate(Kind.PHONE, {"value": "99 1"})) == surrogate_key(
        Surrogate(Kind.PHONE, {"value": "991"})
    )
