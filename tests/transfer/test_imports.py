"""The import page, its preview and its report."""

import csv
import io
import json
import zipfile
from unittest.mock import patch

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from annotations.models import AnnotationSet, Document, Import, Span, StoredFile
from annotations.transfer.services.importing import undo_import
from tests.worlds.checks import check_page
from tests.worlds.managing import HUGE, check_closed, check_method, run, staged, upload, zip_of

PAGE = "/projects/covid/import/"
STRANGE = (
    "\ufeffRiga uno\r\nriga\tdue\rtre\n\n  \U0001f9d1\u200d\u2695\ufe0f e\u0301 \u202eabc\u202c שלום"
    "\x0b\x0c\x85\u2028fine  \r\n"
)


@pytest.fixture
def mia(world, sign_in):
    return sign_in(world.mia)


def page_of(row: Import) -> str:
    return reverse("import_preview", args=["covid", row.pk])


# ── Who, what, wrong ids and methods ─────────────────────────────────────────────────────────────────────────────────


def test_the_page_is_there_for_managers(mia):
    html = check_page(mia.get(PAGE))
    assert "Import notes" in html
    assert "None yet" in html
    assert 'value="ann"' in html  # an annotator to choose


def test_nobody_else_comes_in(world, sign_in, mia):
    row = staged(upload(mia, {"a.txt": b"one"}))
    for url in (PAGE, page_of(row), reverse("import_report", args=["covid", row.pk])):
        check_closed(world, sign_in, url)
    check_closed(world, sign_in, PAGE, "post")
    check_closed(world, sign_in, page_of(row), "post")
    assert Import.objects.get() == row


def test_wrong_methods_and_ids(world, sign_in, mia):
    row = staged(upload(mia, {"a.txt": b"one"}))
    check_method(mia, PAGE)
    check_method(mia, page_of(row))
    check_method(mia, reverse("import_report", args=["covid", row.pk]), "post")
    for pk in (999, HUGE):
        assert mia.get(f"{PAGE}{pk}/").status_code == 404
        assert mia.get(f"{PAGE}{pk}/report.csv").status_code == 404
    assert mia.get(f"{PAGE}x/").status_code == 404
    # An import of another project isn't reached through one's own.
    assert sign_in(world.out).get(f"/projects/other/import/{row.pk}/").status_code == 404


# ── From the file to the note ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("packed", [True, False])
def test_texts_are_stored_exactly(world, mia, packed):
    content = STRANGE.encode()
    files = {"notes.zip": zip_of({"strano.txt": content})} if packed else {"strano.txt": content}
    row = staged(upload(mia, files))
    run(row)
    note = Document.objects.get(name="strano")
    assert note.text == STRANGE
    assert note.text.encode() == content
    assert note.length == len(STRANGE)


def test_preview_then_start_then_report(world, mia):
    text = b"Anna Neri a Roma"
    files = {"w/uno.txt": text, "w/uno.ann": b"T1\tPATIENT 0 9\tAnna Neri\n", "w/due.txt": b"\xff\xfe", "w/x.pdf": b"%"}
    row = staged(upload(mia, files, format="brat", annotations="gold"))
    html = check_page(mia.get(page_of(row)))
    assert not Document.objects.filter(name="uno").exists()
    assert reverse("job_start_import", args=["covid", row.pk]) in html
    assert "due.txt" in html and "Not UTF-8" in html
    assert "x.pdf" in html
    assert "1 span" in html
    run(row)
    html = check_page(mia.get(page_of(row)))
    note = Document.objects.get(name="uno")
    assert reverse("note", args=["covid", note.pk]) in html
    assert "due.txt" in html
    assert AnnotationSet.objects.get(document=note).author.kind == "gold"
    lines = list(csv.reader(io.StringIO(mia.get(f"{page_of(row)}report.csv").content.decode("utf-8-sig"))))
    assert lines[0] == ["outcome", "file", "line", "code", "reason"]
    assert {line[1] for line in lines[1:]} == {"due.txt", "x.pdf"}
    assert "Done" in check_page(mia.get(PAGE))


def test_start_leads_to_the_job(mia):
    row = staged(upload(mia, {"a.txt": b"one"}))
    response = mia.post(reverse("job_start_import", args=["covid", row.pk]))
    assert response.status_code == 302
    assert "/jobs/" in response.url


def test_folders_are_kept_and_the_outermost_is_taken_off(mia):
    run(staged(upload(mia, {"set/a/1.txt": b"one", "set/b/1.txt": b"two"})))
    assert set(Document.objects.exclude(name__startswith="caso").values_list("name", flat=True)) == {"a/1", "b/1"}


def test_without_a_script_names_have_no_folder(mia):
    run(staged(upload(mia, {"a.txt": b"one", "b.txt": b"two"}, paths=False)))
    assert Document.objects.filter(name__in=["a", "b"]).count() == 2


@pytest.mark.parametrize("whose, kind, name", [("annotator", "annotator", "ann"), ("run", "run", "bert 2")])
def test_annotations_go_to_whom_they_belong(world, mia, whose, kind, name):
    files = {"uno.txt": b"Anna Neri", "uno.ann": b"T1\tPATIENT 0 4\tAnna\n"}
    run(staged(upload(mia, files, format="brat", annotations=whose, **{whose: name})))
    reading = AnnotationSet.objects.get(document__name="uno")
    assert (reading.author.kind, reading.author.name) == (kind, name)
    assert reading.author.user == (world.ann if kind == "annotator" else None)


def test_language_and_patients(mia):
    files = {"uno.txt": b"Anna", "patients.csv": b"name;patient_id\nuno;P-7\n"}
    run(staged(upload(mia, files, language="ES")))
    note = Document.objects.get(name="uno")
    assert (note.language, note.patient_id) == ("es", "P-7")


def test_paste(mia):
    text = "prima\r\n\tseconda e\u0301 \U0001f600 \u202erx\u202c  \r\n"  # as a browser sends a text box
    body = {"do": "paste", "name": "visita.txt", "text": text, "language": "it"}
    run(staged(mia.post(PAGE, body)))
    note = Document.objects.get(name="visita")
    assert note.text == text.replace("\r\n", "\n")
    assert note.language == "it"


def test_a_script_gets_json(mia):
    accept = {"HTTP_ACCEPT": "application/json"}
    response = mia.post(PAGE, {"do": "files", "format": "text"}, **accept)
    assert response.status_code == 422
    assert response.json()["messages"] == ["Choose at least one file, a folder, or a zip."]
    response = mia.post(PAGE, {"do": "paste", "name": "x", "text": "y"}, **accept)
    assert response.json()["location"] == page_of(Import.objects.get())


# ── Refusals ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def refused_upload(mia, files, **data):
    """The page that an upload is refused with; nothing was kept."""
    response = upload(mia, files, **data)
    assert response.status_code == 422
    assert not Import.objects.exists()
    assert not StoredFile.objects.exists()
    return check_page(response)


def test_nothing_chosen(mia):
    html = refused_upload(mia, {}, language="it")
    assert "Choose at least one file" in html
    assert 'value="it"' in html  # what was typed stays


@pytest.mark.parametrize(
    "content, words",
    [
        (zip_of({"../out.txt": b"x"}), "names a file outside itself"),
        (zip_of({"a/../../out.txt": b"x"}), "names a file outside itself"),
        (b"PK\x03\x04 this was cut off", "not a readable zip"),
        (b"", "not a readable zip"),
    ],
)
def test_bad_zips(mia, content, words):
    assert words in refused_upload(mia, {"notes.zip": content})


def test_an_encrypted_zip(mia):
    content = bytearray(zip_of({"a.txt": b"one"}))
    content[6] |= 1  # the flag in the local header
    content[content.index(b"PK\x01\x02") + 8] |= 1  # and in the directory
    assert "encrypted" in refused_upload(mia, {"notes.zip": bytes(content)})


def test_paths_that_lead_outside(mia):
    assert "names a file outside itself" in refused_upload(mia, {"../a.txt": b"x", "b.txt": b"y"})


@pytest.mark.parametrize("paths", ["no json", '["a.txt", "b.txt"]', "[1]", "7", '["\\ud800.txt"]'])
def test_paths_that_fit_nothing(mia, paths):
    html = refused_upload(mia, {"a.txt": b"one"}, paths=paths)
    assert "Choose the files again" in html


def test_two_files_of_one_name(mia):
    html = refused_upload(mia, {"a.txt": b"one", "b.txt": b"two"}, paths=json.dumps(["x/a.txt", "x/a.txt"]))
    assert "Two files are called x/a.txt" in html


def test_whose_must_be_said(mia):
    html = refused_upload(mia, {"a.txt": b"one"}, format="brat", annotations="annotator")
    assert "Say whose the annotations are" in html
    html = refused_upload(mia, {"a.txt": b"one"}, annotations="gold")
    assert "Plain text holds no annotations" in html
    refused_upload(mia, {"a.txt": b"one"}, format="docx")


def test_a_patients_file_that_cannot_be_read(mia):
    assert "needs the columns" in refused_upload(mia, {"a.txt": b"one", "patients.csv": b"who,what\n1,2\n"})


def test_more_than_the_limit(mia, settings):
    settings.UPLOAD_MAX_BYTES = 1024
    assert "more than is taken at once" in refused_upload(mia, {"a.txt": b"x" * 2000})


@pytest.mark.parametrize(
    "body",
    [
        {"name": "", "text": "x"},
        {"name": "x", "text": "  \r\n "},
        {"name": "../x", "text": "x"},
        {"name": "ward/x", "text": "x"},
        {"name": ".hidden", "text": "x"},
        {"name": "README", "text": "x"},
        {"name": "x" * 241, "text": "x"},
        {"name": "x\u202ey", "text": "x"},
    ],
)
def test_bad_pastes(mia, body):
    response = mia.post(PAGE, body | {"do": "paste"})
    assert response.status_code == 422
    html = check_page(response)
    assert "errorlist" in html
    assert not Import.objects.exists()


def lines_of(mia, files, **data):
    """What the preview lists, as one text; the run agrees with it."""
    row = staged(upload(mia, files, **data))
    html = check_page(mia.get(page_of(row)))
    report = run(row)
    for problem in report["refused"]:
        assert problem["file"] in html
    return report


@pytest.mark.parametrize(
    "note, words",
    [
        (b"T1\tPATIENT 0 99\tAnna\n", "end"),
        (b"T1\tDRAGON 0 4\tAnna\n", "unknown label 'DRAGON'"),
        (b"T1\tPATIENT 0 4\tAnn\n", "text"),
    ],
)
def test_a_note_is_refused_whole(mia, note, words):
    files = {"uno.txt": b"Anna Neri", "uno.ann": note, "due.txt": b"Roma", "due.ann": b""}
    report = lines_of(mia, files, format="brat", annotations="gold")
    assert report["notes"] == 1
    assert report["refused_notes"] == 1
    assert words in report["refused"][0]["message"]
    assert report["refused"][0]["line"] == 1
    assert not Document.objects.filter(name="uno").exists()


def test_nul_and_not_utf8_and_too_large_a_note(mia, settings):
    settings.NOTE_MAX_BYTES = 50
    files = {"nul.txt": b"a\0b", "latin.txt": "età".encode("latin-1"), "big.txt": b"x" * 51, "ok.txt": b"fine"}
    report = lines_of(mia, files)
    assert report["notes"] == 1
    assert {problem["code"] for problem in report["refused"]} == {"nul", "utf8", "size"}


def test_duplicates(world, mia):
    text = world.note.text.encode()
    report = lines_of(mia, {"caso-001.txt": text, "caso-002.txt": b"other text", "copia.txt": text})
    assert (report["notes"], report["already_there"], report["refused_notes"]) == (0, 1, 2)
    words = {problem["file"]: problem["message"] for problem in report["refused"]}
    assert "another text" in words["caso-002"]
    assert "the same text is there" in words["copia"]
    world.notes[1].refresh_from_db()
    assert world.notes[1].text != "other text"


def test_the_same_name_and_text_is_another_reading(world, mia):
    ann = b"T1\tPATIENT 0 11\tMario Rossi\n"
    files = {"caso-001.txt": world.note.text.encode(), "caso-001.ann": ann}
    report = lines_of(mia, files, format="brat", annotations="run", run="bert")
    assert (report["notes"], report["sets"], report["spans"]) == (0, 1, 1)
    report = lines_of(mia, files, format="brat", annotations="run", run="bert")
    assert (report["already_there"], report["sets"]) == (1, 0)
    assert Span.objects.filter(annotation_set__document=world.note).count() == 1


def test_texts_under_another_name_can_be_taken_after_all(world, mia):
    row = staged(upload(mia, {"copia.txt": world.note.text.encode()}))
    assert "Take them too" in check_page(mia.get(page_of(row)))
    assert mia.post(page_of(row), {"do": "take"}).status_code == 302
    assert "Refuse them" in check_page(mia.get(page_of(row)))
    assert run(row)["notes"] == 1


def test_nothing_to_import_is_said(world, mia):
    html = check_page(mia.get(page_of(staged(upload(mia, {"a.pdf": b"x"})))))
    assert "There is no note in these files" in html
    assert "Start the import" not in html
    html = check_page(mia.get(page_of(staged(upload(mia, {"caso-001.txt": world.note.text.encode()})))))
    assert "Nothing here would change the project" in html


# ── Discarding, expiry, two clicks ───────────────────────────────────────────────────────────────────────────────────


def test_discard(mia):
    row = staged(upload(mia, {"a.txt": b"one"}))
    for _ in range(2):
        response = mia.post(page_of(row), {"do": "discard"}, follow=True)
        assert response.redirect_chain == [(PAGE, 302)]
    row.refresh_from_db()
    assert row.state == Import.State.CANCELLED
    assert not StoredFile.objects.exists()
    assert run(row) == {}
    assert not Document.objects.filter(name="a").exists()
    assert "cancelled" in check_page(mia.get(page_of(row)))


@pytest.mark.parametrize("do", ["discard", "take", "leave", "", "unknown"])
def test_a_running_import_is_left_alone(mia, do):
    row = staged(upload(mia, {"a.txt": b"one"}))
    Import.objects.filter(pk=row.pk).update(state=Import.State.RUNNING)
    response = mia.post(page_of(row), {"do": do})
    assert response.status_code == 409
    html = check_page(response)
    assert "nothing was changed" in html
    assert "It is running" in html
    assert reverse("job_of_import", args=["covid", row.pk]) in html
    assert StoredFile.objects.exists()


def test_failed(mia):
    row = staged(upload(mia, {"a.txt": b"one"}))
    undo_import(import_id=row.pk, state=Import.State.FAILED)
    assert "Nothing of it was kept" in check_page(mia.get(page_of(row)))


def test_an_upload_that_is_gone(mia):
    row = staged(upload(mia, {"a.txt": b"one"}))
    StoredFile.objects.all().delete()
    html = check_page(mia.get(page_of(row)))
    assert "The uploaded files are gone" in html
    assert "Start the import" not in html


def test_two_clicks_stage_one_import(mia):
    first = staged(upload(mia, {"a.txt": b"one"}))
    assert staged(upload(mia, {"a.txt": b"one"})) == first
    assert StoredFile.objects.count() == 1
    assert staged(upload(mia, {"a.txt": b"one"}, language="es")) != first


# ── The list and the report ──────────────────────────────────────────────────────────────────────────────────────────


def test_the_list_asks_few_questions(mia, world, django_assert_max_num_queries):
    for n in range(25):
        Import.objects.create(project=world.project, format="text", report={"notes": n, "refused": ["x"] * 2000})
    with django_assert_max_num_queries(10):
        html = check_page(mia.get(PAGE))
    assert "Page 1" in html
    assert mia.get(PAGE, {"page": HUGE}).status_code == 200


def test_the_report_is_safe_in_a_spreadsheet(mia, world):
    bad = {"file": "=1+1.txt", "line": 3, "code": "utf8", "message": "not UTF-8"}
    report = {"notes": 0, "refused": [bad], "refused_more": 5, "warnings": [bad | {"line": None}]}
    row = Import.objects.create(project=world.project, format="text", state="done", report=report)
    response = mia.get(f"{page_of(row)}report.csv")
    assert response["Content-Type"].startswith("text/csv")
    lines = list(csv.reader(io.StringIO(response.content.decode("utf-8-sig"))))
    assert lines[1] == ["refused", "'=1+1.txt", "3", "utf8", "not UTF-8"]
    assert lines[2][3:] == ["more", "and 5 more that are not listed"]
    assert lines[3][:3] == ["taken with a warning", "'=1+1.txt", ""]


def test_markup_in_names_stays_text(mia):
    row = staged(upload(mia, {"<b>x</b>.txt".replace("/", ""): b"one", "<i>.pdf": b""}))
    html = check_page(mia.get(page_of(row)))
    assert "<b>x" not in html and "<i>" not in html
    assert "&lt;b&gt;x" in html


def test_an_archive_of_too_many_files(mia, monkeypatch):
    monkeypatch.setattr("annotations.domain.zips.MOST_ENTRIES", 2)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for number in range(3):
            archive.writestr(f"n{number}.txt", "text")
    packed.seek(0)
    packed.name = "notes.zip"
    response = mia.post(PAGE, {"do": "files", "files": [packed], "format": "text"})
    assert response.status_code == 422
    assert "This archive holds more than" in check_page(response)
    assert not Import.objects.exists()


# ── The limit, before a byte is read ─────────────────────────────────────────────────────────────────────────────────


class Unread(io.BytesIO):
    def read(self, *args):
        raise AssertionError("the body was read")


@pytest.mark.parametrize("signed_in", [True, False])
def test_a_gigabyte_is_refused_unread(mia, signed_in):
    client = mia if signed_in else Client()
    response = client.generic(
        "POST", PAGE, b"", content_type="multipart/form-data; boundary=x", CONTENT_LENGTH=str(1 << 30),
        **{"wsgi.input": Unread()},
    )  # fmt: skip
    assert response.status_code == 413
    html = check_page(response)
    assert "One upload may have at most 200 MB" in html
    assert response["Cache-Control"] == "no-store"


def test_the_limit_speaks_json(mia):
    response = mia.generic("POST", PAGE, b"", CONTENT_LENGTH=str(1 << 30), HTTP_ACCEPT="application/json")
    assert response.status_code == 413
    assert response.json() == {"error": "too-large", "limit_mb": 200}


@pytest.mark.parametrize("length", ["", "-5", "1e9", "١٢"])
def test_odd_lengths(mia, length):
    response = mia.generic("POST", PAGE, b"", CONTENT_LENGTH=length)
    assert response.status_code == (422 if length == "" else 411)


def test_a_length_must_be_given(mia):
    response = mia.generic("POST", PAGE, b"", HTTP_TRANSFER_ENCODING="chunked")
    assert response.status_code == 411
    assert "did not say how large" in check_page(response)


def test_too_many_files_for_one_form(mia):
    with patch.object(settings, "DATA_UPLOAD_MAX_NUMBER_FILES", 2):
        assert upload(mia, {f"{n}.txt": b"x" for n in range(3)}).status_code == 400
    assert not Import.objects.exists()


def test_no_note_text_in_a_refusal_page(mia):
    files = {"uno.txt": b"Mario Rossi", "uno.ann": b"T1\tPATIENT 0 5\tLuigi\nT2\tXX 0 5\tMario\n"}
    row = staged(upload(mia, files, format="brat", annotations="gold"))
    html = check_page(mia.get(page_of(row)))
    assert "Mario" not in html and "Luigi" not in html
