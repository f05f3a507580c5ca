"""Patient masters, as CSV and as FHIR resources; problems are told without values."""

import json

import pytest

from annotations.release.rules.known.master import (
    MOST_VALUES,
    Master,
    MasterError,
    Problem,
    person_of,
    read_csv,
    resources,
)
from annotations.release.rules.known.person import MasterPerson


def test_columns_are_known_by_their_names_in_three_languages():
    english = b"patient_id,First Name,Last name,DOB,Phone 1,Phone 2,ZIP Code\nP1,Ana,Gil,1970-01-02,1 555,2 555,28001\n"
    spanish = (
        "ID paciente;Nombre;Primer Apellido;Segundo apellido;Fecha de nacimiento;Código postal\n"
        "P1;Ana;Gil;Mur;02/01/1970;28001\n"
    )
    italian = "codice paziente\tNome\tCognome\tData di nascita\tCodice fiscale\nP1\tAna\tGil\t2.1.1970\tX1\n"
    assert read_csv(english).people["P1"].phones == ("1 555", "2 555")
    assert read_csv(spanish.encode("cp1252")).people["P1"] == MasterPerson(
        given=("Ana",), family=("Gil",), second_family=("Mur",), birth_dates=("1970-01-02",), zips=("28001",)
    )
    assert read_csv(italian.encode("utf-8-sig")).people["P1"].national_ids == ("X1",)


DATE_COLUMNS = [
    (["03/04/1970"], False, ["1970-04-03"]), (["03/04/1970"], True, ["1970-03-04"]),
    (["03/04/1970", "25/12/1980"], True, ["1970-04-03", "1980-12-25"]),
    (["03/04/1970", "12/25/1980"], False, ["1970-03-04", "1980-12-25"]), (["3.4.31"], False, ["1931-04-03"]),
    (["19700403"], False, ["1970-04-03"]), (["1970-04-03T10:00:00"], False, ["1970-04-03"]),
]  # fmt: skip


@pytest.mark.parametrize(("dates", "month_first", "read"), DATE_COLUMNS)
def test_the_order_of_day_and_month_follows_from_the_column(dates, month_first, read):
    rows = "".join(f"P{at},{date}\n" for at, date in enumerate(dates))
    master = read_csv(("patient_id,dob\n" + rows).encode(), month_first=month_first)
    assert [person.birth_dates[0] for person in master.people.values()] == read


def test_problems_name_row_and_column_never_the_value():
    master = read_csv(b"patient_id,nome,dob,shoe\nP1,Ana,31/04/1970,40\n,Eva,,\nP2,Ida,,,secret\n\nP3,Lia,1/1/1980,\n")
    problems = [(each.row, each.column, each.code) for each in master.problems]
    assert problems == [(2, "dob", "date"), (3, "patient_id", "no id"), (4, "", "cells")]
    assert (sorted(master.people), master.unknown) == (["P1", "P3"], ["shoe"]) and "31/04" not in repr(master.problems)
    # Several values in a cell, and several rows of a patient, are put together.
    master = read_csv(b"patient_id,given,middle name,phone,email\nP1,Ana,Eva,1 22; 3 44,\nP1,Ana,Eva,1 22,a@b.it\n")
    assert master.people == {"P1": MasterPerson(given=("Ana Eva",), phones=("1 22", "3 44"), emails=("a@b.it",))}
    assert master.rows == 2


INVALID_FILES = [
    (b"", "first line|empty"), (b"Anna,Rossi\n", "no column of patient IDs"),
    (b"patient_id,shoe\n1,2\n", "no other column"), (b"\x00\x01\x02", "not text"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "reason"), INVALID_FILES)
def test_a_file_that_is_no_master_is_refused_without_quoting_it(content, reason):
    with pytest.raises(MasterError, match=reason) as caught:
        read_csv(content)
    assert "Anna" not in str(caught.value)


# ── FHIR Patient resources as people of a patient master ─────────────────────────────────────────────────────────────


FAMILY = [
    {"url": f"http://hl7.org/fhir/StructureDefinition/humanname-{parent}-family", "valueString": name}
    for parent, name in (("fathers", "Gil"), ("mothers", "Mur"))
]
NUMBERS = [
    {"type": {"coding": [{"code": code}]}, "value": value}
    for code, value in (("MR", "NHC-77"), ("SS", "123-45-6789"), ("MB", "H1"))
]
PATIENT = {
    "resourceType": "Patient", "id": "p1", "identifier": [*NUMBERS, {"value": "X9"}],
    "name": [{"family": "Gil Mur", "given": ["Ana", "Eva"], "_family": {"extension": FAMILY}}], "gender": "female",
    "birthDate": "1970-01-02",
    "telecom": [{"system": "phone", "value": "600 111 222"}, {"system": "email", "value": "ana@mail.es"}],
    "address": [{"line": ["Calle Mayor 5"], "city": "Toledo", "postalCode": "45001"}],
    "contact": [{"name": {"family": "Gil", "given": ["Luis"]}, "telecom": [{"system": "phone", "value": "600 333"}]}],
}  # fmt: skip


def test_every_identifier_of_a_resource_is_read():
    assert person_of(PATIENT, ()) == (
        "p1",
        MasterPerson(
            given=("Ana Eva",), family=("Gil",), second_family=("Mur",), birth_dates=("1970-01-02",), sex=("female",),
            phones=("600 111 222", "600 333"), emails=("ana@mail.es",), streets=("Calle Mayor 5",), zips=("45001",),
            cities=("Toledo",), national_ids=("123-45-6789",), records=("NHC-77",), insurance=("H1",), ids=("X9",),
            relatives=("Luis Gil",),
        ),
    )  # fmt: skip


def test_one_resource_a_bundle_or_a_resource_a_line():
    # The patient ID is the identifier that the notes use.
    assert person_of(PATIENT, {"NHC-77"})[0] == "NHC-77"
    other = {"resourceType": "Observation"}
    bundle = {"resourceType": "Bundle", "entry": [{"resource": PATIENT}, {"resource": other}]}
    lines = "\n".join(json.dumps(each) for each in (PATIENT, other, PATIENT))
    for content, numbers in ((json.dumps(PATIENT), [1]), (json.dumps(bundle), [1]), (lines, [1, 3])):
        assert [number for number, _ in resources(content.encode())] == numbers


WITHOUT_PATIENTS = [b"", b"no json", b'{"resourceType": "Bundle"}', b"\xff\xfe", b"[" * 100_000, b'{"a":' * 100_000]


@pytest.mark.parametrize("content", WITHOUT_PATIENTS)
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
    assert (kept.given, kept.family, len(kept.ids)) == (("Anna",), (), MOST_VALUES)
    assert master.problems == [Problem(1, "family", "value"), Problem(1, "ids", "many")]
    # Many rows of one patient
    for number in range(4_000):
        master.add("P-2", MasterPerson(given=(f"Anna{number}",)), number)
    assert (master.rows, len(master.people["P-2"].given)) == (4_001, MOST_VALUES)
