"""Set patient IDs from a file, and erase one patient's notes. No URL, event or log contains the ID."""

import logging

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotations import models
from annotations.core.services import NOTE_DELETED, PATIENT_ERASED, ServiceError
from annotations.core.suggestions import add_strings, tally_of
from annotations.gold.services.making import freeze
from annotations.ops.events import METADATA_SET, PATIENTS_SET
from annotations.ops.services.erasing import delete_note, erase_patient
from tests import factories as make
from tests.ops import test_erasing_everything as everything
from tests.ops.test_erasing_everything import world as full_world
from tests.worlds.checks import check_page
from tests.worlds.programs import Program

PAGE = "/projects/covid/patients/"
ID = "MRN-778812"


@pytest.fixture
def mia(world, sign_in):
    models.Document.objects.filter(pk=world.note.pk).update(patient_id=ID)
    make.make_note(world.other, patient_id=ID)
    return sign_in(world.mia)


def ids_in(project):
    return dict(models.Document.objects.filter(project=project).values_list("name", "patient_id"))


def test_preview_confirm_erase(world, mia, caplog):
    make.make_set(world.note, world.ann, [(0, 11, "PATIENT")], submitted=True)
    assert "1 of 2 notes have a patient ID" in check_page(mia.get(PAGE))
    with caplog.at_level(logging.DEBUG):
        assert "Erase 1 note" in check_page(mia.post(PAGE, {"do": "preview", "patient_id": ID}))
        assert models.Document.objects.filter(project=world.project).count() == 2
        assert "1 note was erased" in check_page(mia.post(PAGE, {"do": "erase", "patient_id": ID, "again": ID}))
        # A repeated request, as by a double click, erases nothing and shows no error.
        again = mia.post(PAGE, {"do": "erase", "patient_id": ID, "again": ID})
        assert again.status_code == 200 and "nothing to erase" in check_page(again)
    assert set(models.Document.objects.filter(project=world.project)) == {world.notes[1]}
    assert models.Document.objects.filter(project=world.other).count() == 1
    event = models.Event.objects.get(verb=PATIENT_ERASED)
    assert event.actor == world.mia and ID not in str(event.data) and ID not in caplog.text


def test_erasures_that_are_refused(world, mia):
    for again in ("", "MRN-77881", ID.lower()):
        response = mia.post(PAGE, {"do": "erase", "patient_id": ID, "again": again})
        assert response.status_code == 422 and "Erase 1 note" in check_page(response), "the button is still shown"
    for patient in ("", " ", "nobody", "x" * 81):
        assert mia.post(PAGE, {"do": "preview", "patient_id": patient}).status_code == 422
        check_page(mia.post(PAGE, {"do": "erase", "patient_id": patient, "again": patient}))
    assert mia.post(PAGE, {"do": "all"}).status_code == 422
    models.Import.objects.create(project=world.project, format="text", state=models.ImportState.RUNNING)
    answer = mia.post(PAGE, {"do": "erase", "patient_id": ID, "again": ID})
    # It doesn't say that there is nothing to erase, which would end the manager's work.
    assert answer.status_code == 409 and "nothing to erase" not in check_page(answer)
    assert ids_in(world.project) == {"caso-001": ID, "caso-002": ""}


def send(client, content: bytes):
    return client.post(PAGE, {"do": "ids", "file": SimpleUploadedFile("p.csv", content)})


@pytest.mark.parametrize("bom, delimiter", [("", ","), ("\ufeff", ";")])
def test_ids_from_a_file(world, mia, bom, delimiter):
    rows = [("name", "patient_id"), ("caso-001", "P1"), ("caso-002.txt", "P2"), ("other", "P3"), ("caso-003", "")]
    content = bom + "".join(f"{delimiter.join(row)}\r\n" for row in rows)
    html = check_page(send(mia, content.encode()))
    assert all(words in html for words in ("2 patient IDs were set", "<li>other</li>", "1 row without an ID"))
    assert ids_in(world.project) == {"caso-001": "P1", "caso-002": "P2"}
    # The same file again changes nothing and records no event.
    assert "2 were already set" in check_page(send(mia, content.encode()))
    assert models.Event.objects.get(verb=PATIENTS_SET).data == {"notes": 2}


def test_types_and_sites_from_a_file(world, mia):
    html = check_page(send(mia, b"name;type;site\ncaso-001;letter;Nord\ncaso-002;;\nnowhere;letter;\n"))
    assert "The type or site of 1 note was set." in html and "nowhere" in html
    note = models.Document.objects.get(pk=world.note.pk)
    assert (note.metadata.note_type, note.metadata.site, note.patient_id) == ("letter", "Nord", ID)
    # An empty cell changes nothing; patient IDs may stand in the same file.
    send(mia, b"name,patient_id,type,site\ncaso-001,P-9,report,\n")
    note = models.Document.objects.get(pk=note.pk)
    assert (note.metadata.note_type, note.metadata.site, note.patient_id) == ("report", "Nord", "P-9")
    assert [event.data for event in models.Event.objects.filter(verb=METADATA_SET)] == [{"notes": 1}, {"notes": 1}]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"), (b"who,what\ncaso-001,P1\n", "needs the column name, and patient_id, type or site"),
        (b"name,ward\na,b\n", "needs the column name, and patient_id, type or site"),
        (b"name,patient_id\ncaso-001,\xff\n", "not UTF-8"),
        (b"name,patient_id\ncaso-001," + b"x" * 81 + b"\n", "line 2"), (b"name,type\na," + 81 * b"x" + b"\n", "line 2"),
        (b"name,patient_id\ncaso-001,a\0b\n", "NUL"),
        (b"name,patient_id\ncaso-001," + b"x" * 200_000 + b"\n", "line 2"),
        (b'name,patient_id\n"caso-001,P1\n', "not a readable CSV"),
    ],
)  # fmt: skip
def test_files_that_are_refused(world, mia, content, words):
    response = send(mia, content)
    assert response.status_code == 422 and words in check_page(response)
    assert ids_in(world.project) == {"caso-001": ID, "caso-002": ""}
    assert mia.post(PAGE, {"do": "ids"}).status_code == 422


def test_erasing_takes_the_same_number_of_queries_however_much_there_is(world):
    counts = []
    for number, many in enumerate((2, 2, 20)):
        patient, about = f"{ID}-{number}", {"project": world.project}
        note = make.make_note(world.project, "nome0001 " * 60, patient_id=patient)
        kept = make.make_note(world.project, "nome0001 " * 60)
        run = make.make_author(world.project, kind="run", name=f"run-{number}")
        words = [(at * 9, at * 9 + 8, "PATIENT") for at in range(many)]
        annotation_set = make.make_set(note, run, words, submitted=True)
        make.make_set(kept, run, words, submitted=True)
        for at in range(many):
            string = 1000 * number + at
            models.Span.objects.filter(annotation_set__author=run, start=at * 9).update(string_key=string)
            frozen = {"number": 100 * number + at + 1, "note_count": 1, "span_count": 0, "content_hash": "0" * 64}
            models.GoldVersion.objects.create(**about, **frozen).notes.create(document=note, spans=[])
            models.Import.objects.create(**about, state="done", report={"refused": [["x", "y"]], "warnings": []})
            only_here = make.make_span(annotation_set, 9 * at, 9 * at + 4, "CITY")
            models.Span.objects.filter(pk=only_here.pk).update(string_key=9_000 + string)
            models.BulkAct.objects.create(
                **about, user=world.mia, act="accept", rule={"kind": "string", "string": 9_000 + string}
            )
        models.SuggestedString.objects.filter(author=run).delete()
        add_strings(tally_of(models.Span.objects.filter(annotation_set__author=run)))
        # The sample of every string is a span that the erasure deletes.
        for span in annotation_set.spans.filter(label__name="PATIENT"):
            models.SuggestedString.objects.filter(author=run, string_key=span.string_key).update(sample=span.pk)
        with CaptureQueriesContext(connection) as counted:
            erase_patient(project=world.project, patient_id=patient, actor=world.mia)
        counts.append(len(counted))
        assert set(models.BulkAct.objects.values_list("rule__string", flat=True)) == {-1}
        assert set(models.GoldVersion.objects.values_list("erased_count", flat=True)) == {1}
        assert all(done.report["refused_more"] == 1 for done in models.Import.objects.filter(project=world.project))
        samples = models.SuggestedString.objects.filter(author=run).values_list("sample", flat=True)
        assert set(samples) == {span.pk for span in models.Span.objects.filter(annotation_set__document=kept)}
    assert counts[1] == counts[2]


# Patient ids and erasures through the API.


PATIENTS = "/projects/covid/patients"


@pytest.fixture
def program(world) -> Program:
    make.make_set(world.note, world.ann, [(0, 11, "PATIENT")])
    return Program(world.mia)


def wrong(answer) -> set[str]:
    assert answer.status_code == 422
    return {error["field"] for error in answer.json()["errors"]}


def test_a_patient_from_the_id_to_the_erasure(program):
    rows = [
        {"name": "caso-001", "patient_id": ID}, {"name": "caso-002", "site": "Ward"},
        {"name": "gone", "patient_id": "1"}
    ]  # fmt: skip
    set_ = program.post(f"{PATIENTS}/ids", {"rows": rows})
    assert set_.json() == {"patients": 1, "metadata": 1, "unknown": ["gone"]}
    assert models.NoteMetadata.objects.get().site == "Ward"
    assert program.get(PATIENTS).json() == {"notes": 2, "with_id": 1, "backups": []}

    copy = make.make_note(make.make_project("copy"), models.Document.objects.get(name="caso-001").text, "another name")
    counts = {"notes": 1, "annotation_sets": 1, "copies": 1}
    preview = program.post(f"{PATIENTS}/preview", {"patient_id": ID}).json()
    assert counts.items() <= preview.items()
    assert {"what": "Project name", "count": 1, "url": "/projects/covid/settings/"} in preview["texts"]
    assert models.Document.objects.exclude(pk=copy.pk).count() == 2
    assert wrong(program.post(f"{PATIENTS}/erase", {"patient_id": ID, "again": "MRN"})) == {"again"}
    erased = program.post(f"{PATIENTS}/erase", {"patient_id": ID, "again": ID}, idempotency_key="1")
    assert counts.items() <= erased.json().items()
    assert models.Document.objects.exclude(pk=copy.pk).get().name == "caso-002"
    again = program.post(f"{PATIENTS}/erase", {"patient_id": ID, "again": ID}, idempotency_key="1")
    # The answer names notes with comments, so it is not stored.
    assert (again.status_code, again.json()["code"]) == (409, "erased")


def test_what_is_wrong_with_an_id(program):
    assert wrong(program.post(f"{PATIENTS}/preview", {"patient_id": ID})) == {"patient_id"}
    assert wrong(program.post(f"{PATIENTS}/erase", {"patient_id": ID, "again": ID})) == {"patient_id"}
    twice = [{"name": "caso-001", "patient_id": "1"}, {"name": "caso-001", "patient_id": "2"}]
    assert wrong(program.post(f"{PATIENTS}/ids", {"rows": twice})) == {"rows.1.name"}


# ── Delete one note that was imported by mistake, with the reach of erasing a patient ──


__all__ = ["full_world"]  # fixtures


@pytest.fixture
def address(world):
    return f"/projects/covid/notes/{world.note.pk}/delete/"


@pytest.fixture
def frozen(world):
    """Both notes have gold and annotations; a version is frozen."""
    for note in world.notes:
        make.make_set(note, world.ann, [(0, 11, "PATIENT")], submitted=True)
        make.make_set(note, "gold", [(0, 11, "PATIENT")])
    return freeze(project=world.project, actor=world.mia)[0]


def test_the_page_says_what_is_deleted(world, sign_in, address, frozen, settings, tmp_path):
    settings.DATA_DIR = tmp_path
    (tmp_path / "backups").mkdir()
    (tmp_path / "backups" / "night.zip").write_bytes(b"")
    html = " ".join(check_page(sign_in(world.mia).get(address)).split())
    assert "<dt>Annotation sets</dt><dd>2</dd>" in html and "1 frozen gold version" in html and "night.zip" in html
    link, note = f'href="{address}"', address.removesuffix("delete/")
    seen = {person: link in check_page(sign_in(getattr(world, person)).get(note)) for person in ("mia", "rev", "vic")}
    assert seen == {"mia": True, "rev": False, "vic": False}


def test_delete_a_note(world, sign_in, address, frozen):
    make.make_set(world.note, "run:rules-1", [(0, 11, "PATIENT")])
    models.StoredFile.objects.create(project=world.project, kind=models.StoredFileKind.EXPORT, name="brat.zip")
    models.Figures.objects.create(project=world.project, kind="x", key="k", value={})
    mia = sign_in(world.mia)
    html = check_page(mia.post(address, follow=True))
    assert world.note.name not in html and world.notes[1].name in html
    assert list(models.Document.objects.filter(project=world.project)) == [world.notes[1]]
    assert (
        not models.AnnotationSet.objects.filter(document_id=world.note.pk).exists() and models.Span.objects.count() == 2
    )
    assert not models.Assignment.objects.filter(document_id=world.note.pk).exists()
    assert not models.Stale.objects.filter(document_id=world.note.pk).exists()
    assert (
        not models.SuggestedString.objects.exists()
        and not models.StoredFile.objects.exists()
        and not models.Figures.objects.exists()
    )
    version = models.GoldVersion.objects.get()
    assert (version.erased_count, version.notes.count(), version.content_hash) == (1, 1, frozen.content_hash)
    event = models.Event.objects.get(verb=NOTE_DELETED)
    assert (event.actor, event.document_id, event.data["annotation_sets"]) == (world.mia, world.note.pk, 3)
    assert "deleted a note" in mia.get("/projects/covid/audit/").content.decode()


def test_what_is_refused(world, sign_in, address):
    mia, other = sign_in(world.mia), make.make_note(world.other)
    running = models.Import.objects.create(project=world.project, format="text", state=models.ImportState.RUNNING)
    answer = mia.post(address)
    assert answer.status_code == 409 and "An import is running" in check_page(answer)
    assert models.Document.objects.filter(pk=world.note.pk).exists()
    running.delete()
    assert [mia.post(address).status_code for _ in range(2)] == [302, 302], "a second click deletes nothing more"
    assert models.Event.objects.filter(verb=NOTE_DELETED).count() == 1
    assert mia.get(address).status_code == 404
    assert mia.post(f"/projects/covid/notes/{other.pk}/delete/").status_code == 404
    assert set(models.Document.objects.all()) == {world.notes[1], other}


@pytest.mark.queue
@pytest.mark.django_db(transaction=True)
def test_two_managers_delete_it_at_once(world, at_once):
    make.make_member(world.project, models.Role.MANAGER, "max")

    def delete():
        try:
            return delete_note(project=world.project, note=world.note.pk, actor=None)["notes"]
        except ServiceError as error:
            return error.code

    assert sorted(map(str, at_once(delete, delete))) == ["1", "none"]
    assert models.Event.objects.filter(verb=NOTE_DELETED).count() == 1


@pytest.mark.queue
@pytest.mark.django_db(transaction=True)
def test_nothing_of_a_deleted_note_is_found_anywhere(full_world, caplog):
    everything.listen(caplog)
    everything.fill(full_world)
    client = everything.pages(full_world)
    for note in (full_world.note, models.Recording.objects.get().document):
        assert client.post(f"/projects/covid/notes/{note.pk}/delete/").status_code == 302
    client.get("/projects/covid/notes/")
    assert everything.found_in(everything.everywhere(full_world, caplog.text)) == []
