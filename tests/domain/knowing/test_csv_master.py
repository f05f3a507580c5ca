"""A patient master as CSV: columns by name, delimiters, encodings, dates, and problems without values."""

import pytest

from annotations.domain.knowing.csv_master import read_csv
from annotations.domain.knowing.master import MasterError
from annotations.domain.knowing.person import Person


def test_columns_are_known_by_their_names_in_three_languages():
    english = b"patient_id,First Name,Last name,DOB,Phone 1,Phone 2,ZIP Code\nP1,Ana,Gil,1970-01-02,1 555,2 555,28001\n"
    spanish = (
        "ID paciente;Nombre;Primer Apellido;Segundo apellido;Fecha de nacimiento;Código postal\n"
        "P1;Ana;Gil;Mur;02/01/1970;28001\n"
    )
    italian = "codice paziente\tNome\tCognome\tData di nascita\tCodice fiscale\nP1\tAna\tGil\t2.1.1970\tX1\n"
    assert read_csv(english).people["P1"].phones == ("1 555", "2 555")
    assert read_csv(spanish.encode("cp1252")).people["P1"] == Person(
        given=("Ana",), family=("Gil",), second_family=("Mur",), birth_dates=("1970-01-02",), zips=("28001",)
    )
    assert read_csv(italian.encode("utf-8-sig")).people["P1"].national_ids == ("X1",)


def test_several_values_in_a_cell_and_several_rows_of_a_patient_are_put_together():
    master = read_csv(b"patient_id,given,middle name,phone,email\nP1,Ana,Eva,1 22; 3 44,\nP1,Ana,Eva,1 22,a@b.it\n")
    assert master.people == {"P1": Person(given=("Ana Eva",), phones=("1 22", "3 44"), emails=("a@b.it",))}
    assert master.rows == 2


@pytest.mark.parametrize(
    ("dates", "month_first", "read"),
    [
        (["03/04/1970"], False, ["1970-04-03"]),
        (["03/04/1970"], True, ["1970-03-04"]),
        (["03/04/1970", "25/12/1980"], True, ["1970-04-03", "1980-12-25"]),
        (["03/04/1970", "12/25/1980"], False, ["1970-03-04", "1980-12-25"]),
        (["3.4.31"], False, ["1931-04-03"]),
        (["19700403"], False, ["1970-04-03"]),
        (["1970-04-03T10:00:00"], False, ["1970-04-03"]),
    ],
)
def test_the_order_of_day_and_month_follows_from_the_column(dates, month_first, read):
    rows = "".join(f"P{at},{date}\n" for at, date in enumerate(dates))
    master = read_csv(("patient_id,dob\n" + rows).encode(), month_first=month_first)
    assert [person.birth_dates[0] for person in master.people.values()] == read


def test_problems_name_row_and_column_never_the_value():
    master = read_csv(b"patient_id,nome,dob,shoe\nP1,Ana,31/04/1970,40\n,Eva,,\nP2,Ida,,,secret\n\nP3,Lia,1/1/1980,\n")
    assert [(each.row, each.column, each.code) for each in master.problems] == [
        (2, "dob", "date"), (3, "patient_id", "no id"), (4, "", "cells"),
    ]  # fmt: skip
    assert sorted(master.people) == ["P1", "P3"]
    assert master.unknown == ["shoe"]
    assert "31/04" not in repr(master.problems)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "first line|empty"),
        (b"Anna,Rossi\n", "no column of patient IDs"),
        (b"patient_id,shoe\n1,2\n", "no other column"),
        (b"\x00\x01\x02", "not text"),
    ],
)
def test_a_file_that_is_no_master_is_refused_without_quoting_it(content, reason):
    with pytest.raises(MasterError, match=reason) as caught:
        read_csv(content)
    assert "Anna" not in str(caught.value)
