"""The import page: who may use it, what a user uploads or pastes, the preview, and discarding an import."""

import csv
import io

import pytest
from django.urls import reverse

from annotations.models import AnnotationSet, Author, Document, Import, StoredFile
from annotations.transfer.services.importing import undo_import
from tests.transfer.import_pages import PAGE, page_of
from tests.worlds.checks import check_page
from tests.worlds.managing import run, staged, upload, zip_of

STRANGE = (
    "\ufeffRiga uno\r\nriga\tdue\rtre\n\n  \U0001f9d1\u200d\u2695\ufe0f e\u0301 \u202eabc\u202c שלום"
    "\x0b\x0c\x85\u2028fine  \r\n"
)


def test_the_page_is_there_for_managers(mia):
    html = check_page(mia.get(PAGE))
    assert "Import notes" in html
    assert "No imports yet" in html
    assert 'value="ann"' in html  # an annotator to choose


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
    assert "due.txt" in html and "The file is not UTF-8" in html
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


def test_folders_are_kept_but_the_top_folder_is_dropped(mia):
    run(staged(upload(mia, {"set/a/1.txt": b"one", "set/b/1.txt": b"two"})))
    assert set(Document.objects.exclude(name__startswith="caso").values_list("name", flat=True)) == {"a/1", "b/1"}


def test_without_a_script_names_have_no_folder(mia):
    run(staged(upload(mia, {"a.txt": b"one", "b.txt": b"two"}, paths=False)))
    assert Document.objects.filter(name__in=["a", "b"]).count() == 2


@pytest.mark.parametrize("whose, kind, name", [("annotator", "annotator", "ann"), ("run", "run", "bert 2")])
def test_annotations_get_the_chosen_author(world, mia, whose, kind, name):
    files = {"uno.txt": b"Anna Neri", "uno.ann": b"T1\tPATIENT 0 4\tAnna\n"}
    run(staged(upload(mia, files, format="brat", annotations=whose, **{whose: name})))
    annotation_set = AnnotationSet.objects.get(document__name="uno")
    assert (annotation_set.author.kind, annotation_set.author.name) == (kind, name)
    assert annotation_set.author.user == (world.ann if kind == "annotator" else None)


def test_suggestions_of_an_import_name_no_id_as_their_source(world, mia):
    files = {"uno.txt": b"Anna Neri", "uno.ann": b"T1\tPATIENT 0 4\tAnna\n"}
    run(staged(upload(mia, files, format="brat", annotations="run", run="bert 2")))
    note, author = Document.objects.get(name="uno"), Author.objects.get(name="bert 2")
    state = mia.get(reverse("review_state", args=["covid", author.pk, note.pk])).json()
    assert [each["source"] for each in state["suggestions"]] == ["import"]


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


def test_discard(mia):
    row = staged(upload(mia, {"a.txt": b"one"}))
    for _ in range(2):
        response = mia.post(page_of(row), {"do": "discard"}, follow=True)
        assert response.redirect_chain == [(PAGE, 302)]
    row.refresh_from_db()
    assert row.state == Import.State.CANCELED
    assert not StoredFile.objects.exists()
    assert run(row) == {}
    assert not Document.objects.filter(name="a").exists()
    assert "was canceled" in check_page(mia.get(page_of(row)))


@pytest.mark.parametrize("do", ["discard", "take", "leave", "", "unknown"])
def test_a_running_import_can_not_be_discarded_or_changed(mia, do):
    row = staged(upload(mia, {"a.txt": b"one"}))
    Import.objects.filter(pk=row.pk).update(state=Import.State.RUNNING)
    response = mia.post(page_of(row), {"do": do})
    assert response.status_code == 409
    html = check_page(response)
    assert "Nothing was changed" in html
    assert "The import is running" in html
    assert reverse("job_of_import", args=["covid", row.pk]) in html
    assert StoredFile.objects.exists()


def test_failed(mia):
    row = staged(upload(mia, {"a.txt": b"one"}))
    undo_import(import_id=row.pk, state=Import.State.FAILED)
    assert "Nothing was imported" in check_page(mia.get(page_of(row)))


def test_an_upload_that_was_deleted(mia):
    row = staged(upload(mia, {"a.txt": b"one"}))
    StoredFile.objects.all().delete()
    html = check_page(mia.get(page_of(row)))
    assert "The uploaded files were deleted" in html
    assert "Start import" not in html


def test_two_clicks_stage_one_import(mia):
    first = staged(upload(mia, {"a.txt": b"one"}))
    assert staged(upload(mia, {"a.txt": b"one"})) == first
    assert StoredFile.objects.count() == 1
    assert staged(upload(mia, {"a.txt": b"one"}, language="es")) != first
