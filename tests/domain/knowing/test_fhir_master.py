"""FHIR Patient resources as people of a patient master."""

import json

import pytest

from annotations.domain.knowing.fhir_master import person_of, resources
from annotations.domain.knowing.master import MOST_VALUES, Master, MasterError, Problem
from annotations.domain.knowing.person import Person

PATIENT = {
    "resourceType": "Patient",
    "id": "p1",
    "identifier": [
        {"type": {"coding": [{"code": "MR"}]}, "value": "NHC-77"},
        {"type": {"coding": [{"code": "SS"}]}, "value": "123-45-6789"},
        {"type": {"coding": [{"code": "MB"}]}, "value": "H1"},
        {"value": "X9"},
    ],
    "name": [
        {
            "family": "Gil Mur",
            "given": ["Ana", "Eva"],
            "_family": {
                "extension": [
                    {"url": "http://hl7.org/fhir/StructureDefinition/humanname-fathers-family", "valueString": "Gil"},
                    {"url": "http://hl7.org/fhir/StructureDefinition/humanname-mothers-family", "valueString": "Mur"},
                ]
            },
        }
    ],
    "gender": "female",
    "birthDate": "1970-01-02",
    "telecom": [{"system": "phone", "value": "600 111 222"}, {"system": "email", "value": "ana@mail.es"}],
    "address": [{"line": ["Calle Mayor 5"], "city": "Toledo", "postalCode": "45001"}],
    "contact": [{"name": {"family": "Gil", "given": ["Luis"]}, "telecom": [{"system": "phone", "value": "600 333"}]}],
}


def test_every_identifier_of_a_resource_is_read():
    assert person_of(PATIENT, ()) == (
        "p1",
        Person(
            given=("Ana Eva",), family=("Gil",), second_family=("Mur",), birth_dates=("1970-01-02",), sex=("female",),
            phones=("600 111 222", "600 333"), emails=("ana@mail.es",), streets=("Calle Mayor 5",), zips=("45001",),
            cities=("Toledo",), national_ids=("123-45-6789",), records=("NHC-77",), insurance=("H1",), ids=("X9",),
            relatives=("Luis Gil",),
        ),
    )  # fmt: skip


def test_the_patient_id_is_the_identifier_that_the_notes_use():
    assert person_of(PATIENT, {"NHC-77"})[0] == "NHC-77"


def test_one_resource_a_bundle_or_a_resource_a_line():
    other = {"resourceType": "Observation"}
    bundle = {"resourceType": "Bundle", "entry": [{"resource": PATIENT}, {"resource": other}]}
    lines = "\n".join(json.dumps(each) for each in (PATIENT, other, PATIENT))
    for content, numbers in ((json.dumps(PATIENT), [1]), (json.dumps(bundle), [1]), (lines, [1, 3])):
        assert [number for number, _ in resources(content.encode())] == numbers


@pytest.mark.parametrize(
    "content", [b"", b"no json", b'{"resourceType": "Bundle"}', b"\xff\xfe", b"[" * 100_000, b'{"a":' * 100_000]
)
def test_a_file_without_patients_is_refused(content):
    with pytest.raises(MasterError):
        list(resources(content))


def test_values_that_are_too_long_or_too_many_are_left_out() -> None:
    many = [{"value": f"N-{number}"} for number in range(1_000)]
    long = {"family": "a" * 1_000_000, "given": ["Anna"]}
    master = Master()
    patient, person = person_of({"id": "P-1", "name": [long, {"family": "Al\0ba"}], "identifier": many}, ())
    master.add(patient, person, 1)
    kept = master.people["P-1"]
    assert (kept.given, kept.family) == (("Anna",), ())
    assert kept.ids == tuple(f"N-{number}" for number in range(MOST_VALUES))
    assert master.problems == [Problem(1, "family", "value"), Problem(1, "ids", "many")]


def test_many_rows_of_one_patient_take_no_more_time_each() -> None:
    master = Master()
    for number in range(4_000):
        master.add("P-1", Person(given=(f"Anna{number}",)), number)
    assert (master.rows, len(master.people["P-1"].given)) == (4_000, MOST_VALUES)
