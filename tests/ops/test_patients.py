"""Patients: setting ids from a file, erasing one patient's notes. The id is in no address, event or log."""

import logging
import os

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from annotations.models import Document, Event, Verb
from annotations.ops.services.patients import set_patient_ids
from tests import factories as make
from tests.worlds.checks import check_page
from tests.worlds.managing import check_closed, check_method

PAGE = "/projects/covid/patients/"
ID = "MRN-778812"


@pytest.fixture
def mia(world, sign_in):
    Document.objects.filter(pk=world.note.pk).update(patient_id=ID)
    make.make_note(world.other, patient_id=ID)
    return sign_in(world.mia)


def test_nobody_else_comes_in(world, sign_in, mia):
    check_closed(world, sign_in, PAGE)
    check_closed(world, sign_in, PAGE, "post")


def test_wrong_methods(mia):
    check_method(mia, PAGE)


def test_the_page_counts(mia):
    assert "1 of 2 notes have a patient id" in check_page(mia.get(PAGE))


# ── Erasing ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_backups_from_before_are_named_with_their_day(mia, settings, tmp_path):
    settings.DATA_DIR = tmp_path
    (tmp_path / "backups").mkdir()
    backup = tmp_path / "backups" / "night.zip"
    backup.write_bytes(b"unreadable")
    os.utime(backup, (1_600_000_000, 1_600_000_000))
    html = check_page(mia.post(PAGE, {"do": "erase", "patient_id": ID, "again": ID}))
    assert "night.zip" in html and "13 Sep 2020" in html


def test_look_then_type_then_gone(world, mia, caplog):
    make.make_set(world.note, world.ann, [(0, 11, "PATIENT")], submitted=True)
    with caplog.at_level(logging.DEBUG):
        html = check_page(mia.post(PAGE, {"do": "preview", "patient_id": ID}))
        assert "Erase 1 note" in html
        assert Document.objects.filter(project=world.project).count() == 2
        html = check_page(mia.post(PAGE, {"do": "erase", "patient_id": ID, "again": ID}))
        assert "1 note was erased" in html
        # Once more, as a double click does: nothing to erase, no error.
        again = mia.post(PAGE, {"do": "erase", "patient_id": ID, "again": ID})
        assert again.status_code == 200
        assert "nothing to erase" in check_page(again)
    assert [note.pk for note in Document.objects.filter(project=world.project)] == [world.notes[1].pk]
    assert Document.objects.filter(project=world.other).count() == 1
    event = Event.objects.get(verb=Verb.PATIENT_ERASED)
    assert event.actor == world.mia
    assert ID not in str(event.data)
    assert ID not in caplog.text


@pytest.mark.parametrize("again", ["", "MRN-77881", ID.lower()])
def test_the_id_must_be_typed_once_more(world, mia, again):
    response = mia.post(PAGE, {"do": "erase", "patient_id": ID, "again": again})
    assert response.status_code == 422
    html = check_page(response)
    assert "Erase 1 note" in html  # still there to be done
    assert Document.objects.filter(project=world.project).count() == 2


@pytest.mark.parametrize("patient", ["", " ", "nobody", "x" * 81])
def test_unknown_patients(world, mia, patient):
    response = mia.post(PAGE, {"do": "preview", "patient_id": patient})
    assert response.status_code == 422
    check_page(response)
    response = mia.post(PAGE, {"do": "erase", "patient_id": patient, "again": patient})
    check_page(response)
    assert Document.objects.filter(project=world.project).count() == 2


def test_an_empty_id_erases_nothing(world, mia):
    mia.post(PAGE, {"do": "erase", "patient_id": "", "again": ""})
    assert Document.objects.filter(project=world.project, patient_id="").count() == 1


def test_an_unknown_button(world, mia):
    assert mia.post(PAGE, {"do": "all"}).status_code == 422
    assert Document.objects.filter(project=world.project).count() == 2


# ── Setting ids ──────────────────────────────────────────────────────────────────────────────────────────────────────


def send(client, content: bytes):
    return client.post(PAGE, {"do": "ids", "file": SimpleUploadedFile("p.csv", content)})


@pytest.mark.parametrize("mark, parted", [("", ","), ("\ufeff", ";")])
def test_ids_from_a_file(world, mia, mark, parted):
    rows = [("name", "patient_id"), ("caso-001", "P1"), ("caso-002.txt", "P2"), ("other", "P3"), ("caso-003", "")]
    content = mark + "".join(f"{parted.join(row)}\r\n" for row in rows)
    html = check_page(send(mia, content.encode()))
    assert "2 notes got a patient id" in html
    assert "1 name is no note of this project" in html and "<li>other</li>" in html
    assert "1 row names no id" in html
    ids = dict(Document.objects.filter(project=world.project).values_list("name", "patient_id"))
    assert ids == {"caso-001": "P1", "caso-002": "P2"}
    event = Event.objects.get(verb=Verb.PATIENTS_SET)
    assert event.data == {"notes": 2}
    # The same again changes nothing and writes nothing down.
    assert "2 had it already" in check_page(send(mia, content.encode()))
    assert Event.objects.filter(verb=Verb.PATIENTS_SET).count() == 1


@pytest.mark.parametrize(
    "content, words",
    [
        (b"", "empty"),
        (b"who,what\ncaso-001,P1\n", "needs the columns name and patient_id"),
        (b"name,patient_id\ncaso-001,\xff\n", "not UTF-8"),
        (b"name,patient_id\ncaso-001," + b"x" * 81 + b"\n", "line 2"),
        (b"name,patient_id\ncaso-001,a\0b\n", "NUL"),
        (b"name,patient_id\ncaso-001," + b"x" * 200_000 + b"\n", "no readable CSV"),
    ],
)
def test_files_that_are_refused(world, mia, content, words):
    response = send(mia, content)
    assert response.status_code == 422
    assert words in check_page(response)
    assert set(Document.objects.filter(project=world.project).values_list("patient_id", flat=True)) == {ID, ""}


def test_no_file(mia):
    response = mia.post(PAGE, {"do": "ids"})
    assert response.status_code == 422
    check_page(response)


def test_many_notes_in_few_queries(world, django_assert_max_num_queries):
    for n in range(60):
        make.make_note(world.project, f"text {n}", f"n{n}")
    mapping = {f"n{n}": f"P{n}" for n in range(60)}
    with django_assert_max_num_queries(8):
        done = set_patient_ids(project=world.project, mapping=mapping, actor=world.mia)
    assert done == {"changed": 60, "same": 0, "without_id": 0, "unknown": []}


def test_other_projects_notes_are_left_alone(world):
    note = make.make_note(world.other, name="caso-001")
    set_patient_ids(project=world.project, mapping={"caso-001": "P1"}, actor=None)
    note.refresh_from_db()
    assert note.patient_id == ""
