"""The import page: what a user uploads or pastes, the preview, and discarding an import."""

import csv
import io

import pytest
from django.urls import reverse

from annotations.exchange.services.importing import undo_import
from annotations.models import AnnotationSet, Author, Document, Import, ImportState, StoredFile
from tests.exchange.import_pages import GOLD, PAGE, page_of
from tests.worlds.checks import check_page
from tests.worlds.managing import run, staged, upload, zip_of

STRANGE = (
    "\ufeffRiga uno\r\nriga\tdue\rtre\n\n  \U0001f9d1\u200d\u2695\ufe0f e\u0301 \u202eabc\u202c שלום"
    "\x0b\x0c\x85\u2028fine  \r\n"
)
NAMED = {"uno.txt": b"Anna Neri", "uno.ann": b"T1\tPATIENT 0 4\tAnna\n"}


def test_preview_then_start_then_report(mia):
    html = check_page(mia.get(PAGE))
    assert 'value="ann"' in html  # an annotator to choose
    assert 'name="encoding"' in html and html.count('name="no_cleanup"') == 5
    text = b"Anna Neri a Roma"
    files = {"w/uno.txt": text, "w/uno.ann": b"T1\tPATIENT 0 9\tAnna Neri\n", "w/due.txt": b"\xff\xfe", "w/x.pdf": b"%"}
    row = staged(upload(mia, files, **GOLD))
    html = check_page(mia.get(page_of(row)))
    assert not Document.objects.filter(name="uno").exists()
    start = reverse("job_start_import", args=["covid", row.pk])
    assert all(each in html for each in (start, "due.txt", "not UTF-8", "x.pdf", "1 span"))
    response = mia.post(start)
    assert response.status_code == 302 and "/jobs/" in response.url
    run(row)
    html = check_page(mia.get(page_of(row)))
    note = Document.objects.get(name="uno")
    assert reverse("note", args=["covid", note.pk]) in html and "due.txt" in html
    assert AnnotationSet.objects.get(document=note).author.kind == "gold"
    lines = list(csv.reader(io.StringIO(mia.get(f"{page_of(row)}report.csv").content.decode("utf-8-sig"))))
    assert lines[0] == ["outcome", "file", "line", "code", "reason"]
    assert {line[1] for line in lines[1:]} == {"due.txt", "x.pdf"}
    check_page(mia.get(PAGE))


@pytest.mark.parametrize(
    ("files", "paths", "expected"),
    [
        ({"set/a/1.txt": b"one", "set/b/1.txt": b"two"}, True, {"a/1", "b/1"}),  # without the top folder
        ({"a.txt": b"one", "b.txt": b"two"}, False, {"a", "b"}),  # without a script
    ],
)
def test_folders_in_names(mia, files, paths, expected):
    run(staged(upload(mia, files, paths=paths)))
    assert set(Document.objects.exclude(name__startswith="caso").values_list("name", flat=True)) == expected


def test_annotations_get_the_chosen_author(world, mia):
    for whose, name, user in (("annotator", "ann", world.ann), ("run", "bert 2", None)):
        run(staged(upload(mia, NAMED, format="brat", annotations=whose, **{whose: name})))
        author = AnnotationSet.objects.get(author__kind=whose, document__name="uno").author
        assert (author.name, author.user) == (name, user)
    note, author = Document.objects.get(name="uno"), Author.objects.get(name="bert 2")
    state = mia.get(reverse("review_state", args=["covid", author.pk, note.pk])).json()
    assert [each["source"] for each in state["suggestions"]] == ["import"], "it names no id"


def test_the_preview_asks_whose_spans_these_are(world, mia):
    row = staged(upload(mia, NAMED, format="auto"))
    assert row.written_as == "" and 'value="author"' in check_page(mia.get(page_of(row)))
    for wanted, status, written_as in (("annotator", 409, ""), ("run", 409, ""), ("gold", 302, "gold")):
        assert mia.post(page_of(row), {"do": "author", "annotations": wanted, "annotator": ""}).status_code == status
        row.refresh_from_db()
        assert row.written_as == written_as
    assert mia.post(page_of(row), {"do": "author", "annotations": "run", "run": "bert"}).status_code == 302
    row.refresh_from_db()
    assert 'value="bert"' in check_page(mia.get(page_of(row)))
    run(row)
    assert AnnotationSet.objects.get(document__name="uno").author.name == "bert"
    assert mia.post(page_of(row), {"do": "author", "annotations": "gold"}).status_code == 409
    assert 'value="author"' not in mia.get(page_of(staged(upload(mia, {"due.txt": b"Bo"})))).content.decode()


def test_language_and_patients(mia):
    run(staged(upload(mia, {"uno.txt": b"Anna", "patients.csv": b"name;patient_id\nuno;P-7\n"}, language="ES")))
    note = Document.objects.get(name="uno")
    assert (note.language, note.patient_id) == ("es", "P-7")


def test_paste(mia):
    text = "prima\r\n\tseconda e\u0301 \U0001f600 \u202erx\u202c  \r\n"  # as a browser sends a text box
    run(staged(mia.post(PAGE, {"do": "paste", "name": "visita.txt", "text": text, "language": "it"})))
    note = Document.objects.get(name="visita")
    assert (note.text, note.language) == (text.replace("\r\n", "\n"), "it")


def test_a_script_gets_json(mia):
    accept = {"HTTP_ACCEPT": "application/json"}
    response = mia.post(PAGE, {"do": "files", "format": "text"}, **accept)
    assert response.status_code == 422 and len(response.json()["messages"]) == 1
    response = mia.post(PAGE, {"do": "paste", "name": "x", "text": "y"}, **accept)
    assert response.json()["location"] == page_of(Import.objects.get())


def test_discard(mia):
    row = staged(upload(mia, {"a.txt": b"one"}))
    for _ in range(2):
        response = mia.post(page_of(row), {"do": "discard"}, follow=True)
        assert response.redirect_chain == [(PAGE, 302)]
    row.refresh_from_db()
    assert row.state == ImportState.CANCELED and not StoredFile.objects.exists()
    assert run(row) == {} and not Document.objects.filter(name="a").exists()
    assert "was canceled" in check_page(mia.get(page_of(row)))


def test_a_running_import_can_not_be_discarded_or_changed(mia):
    row = staged(upload(mia, {"a.txt": b"one"}))
    Import.objects.filter(pk=row.pk).update(state=ImportState.RUNNING)
    for do in ("discard", "take", "leave", "", "unknown"):
        response = mia.post(page_of(row), {"do": do})
        assert response.status_code == 409
        assert reverse("job_of_import", args=["covid", row.pk]) in check_page(response)
    assert StoredFile.objects.exists()


def test_a_failed_import_and_an_upload_that_was_deleted(mia):
    row = staged(upload(mia, {"a.txt": b"one"}))
    StoredFile.objects.all().delete()
    html = check_page(mia.get(page_of(row)))
    assert "were deleted" in html and "Start import" not in html
    undo_import(import_id=row.pk, state=ImportState.FAILED)
    assert "Nothing was imported" in check_page(mia.get(page_of(row)))


def test_two_clicks_stage_one_import(mia):
    first = staged(upload(mia, {"a.txt": b"one"}))
    assert staged(upload(mia, {"a.txt": b"one"})) == first
    assert StoredFile.objects.count() == 1
    assert staged(upload(mia, {"a.txt": b"one"}, language="es")) != first


def test_texts_are_stored_exactly(mia):
    content = STRANGE.encode()
    for name, files in (("plain", {"plain.txt": content}), ("packed", {"notes.zip": zip_of({"packed.txt": content})})):
        row = staged(upload(mia, files))
        mia.post(page_of(row), {"do": "take"})
        run(row)
        note = Document.objects.get(name=name)
        assert (note.text, note.length) == (STRANGE, len(STRANGE))
