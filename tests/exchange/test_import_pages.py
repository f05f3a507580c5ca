"""The import page: what a user uploads or pastes, the preview, and discarding an import."""

import csv
import io
import json
import zipfile
from unittest.mock import patch

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from annotations.core.services import ServiceError
from annotations.exchange.services import importing
from annotations.exchange.services.importing import undo_import
from annotations.exchange.services.sources import FileSource, ZipSource
from annotations.exchange.services.staged import pack
from annotations.models import AnnotationSet, Author, Document, Import, ImportState, StoredFile
from tests.exchange.brat_files import GOLD, PAGE, brat, codes, page_of, stage
from tests.factories import reread
from tests.worlds.checks import check_page
from tests.worlds.managing import run, staged, upload
from tests.zips import zipped

NAMED = {"uno.txt": b"Anna Neri", "uno.ann": b"T1\tPATIENT 0 4\tAnna\n"}


def test_preview_then_start_then_report(mia):
    html = check_page(mia.get(PAGE))
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
    assert row.written_as == "" and 'name="annotations"' in (html := check_page(mia.get(page_of(row))))
    assert 'value="ann"' in html  # an annotator to choose
    for wanted, status, written_as in (("annotator", 409, ""), ("run", 409, ""), ("gold", 302, "gold")):
        assert mia.post(page_of(row), {"do": "author", "annotations": wanted, "annotator": ""}).status_code == status
        assert reread(row).written_as == written_as
    assert mia.post(page_of(row), {"do": "author", "annotations": "run", "run": "bert"}).status_code == 302
    row.refresh_from_db()
    assert 'value="bert"' in check_page(mia.get(page_of(row)))
    run(row)
    assert AnnotationSet.objects.get(document__name="uno").author.name == "bert"
    assert mia.post(page_of(row), {"do": "author", "annotations": "gold"}).status_code == 409
    assert 'name="annotations"' not in mia.get(page_of(staged(upload(mia, {"due.txt": b"Bo"})))).content.decode()


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
        assert mia.post(page_of(row), {"do": "discard"}, follow=True).redirect_chain == [(PAGE, 302)]
    assert reread(row).state == ImportState.CANCELED and not StoredFile.objects.exists()
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
    brats = [staged(upload(mia, NAMED, **GOLD, **more)) for more in ({}, {"repair_offsets": "on"}, {})]
    assert brats[0] == brats[2] != brats[1]


# Uploads, pasted texts and zips that are refused as a whole, and the names of files inside a zip.


ENCRYPTED = bytearray(zipped({"a.txt": b"one"}))
ENCRYPTED[6] |= 1  # the flag in the local header
ENCRYPTED[ENCRYPTED.index(b"PK\x01\x02") + 8] |= 1  # and in the directory


def refused_upload(mia, files, **data):
    """Return the HTML after a refused upload, and check that nothing was stored."""
    response = upload(mia, files, **data)
    assert response.status_code == 422
    assert not Import.objects.exists() and not StoredFile.objects.exists()
    return check_page(response)


@pytest.mark.parametrize(
    ("files", "data", "words"),
    [
        ({}, {"language": "it"}, 'value="it"'),  # the form keeps what was typed
        ({"notes.zip": zipped({"../out.txt": b"x"})}, {}, "leads outside"),
        ({"notes.zip": b"PK\x03\x04 this was cut off"}, {}, "not a readable zip"),
        ({"notes.zip": b""}, {}, "not a readable zip"),
        ({"notes.zip": bytes(ENCRYPTED)}, {}, "encrypted"),
        ({"../a.txt": b"x", "b.txt": b"y"}, {}, "leads outside"),
        ({"a.txt": b"one", "b.txt": b"two"}, {"paths": json.dumps(["x/a.txt", "x/a.txt"])}, "“x/a.txt”"),
        ({"a.txt": b"one"}, {"format": "brat", "annotations": "annotator"}, "Enter a name for the author"),
        ({"a.txt": b"one"}, {"annotations": "gold"}, "Plain text holds no annotations"),
        ({"a.txt": b"one"}, {"format": "docx"}, "errorlist"),
        ({"a.txt": b"one", "patients.csv": b"who,what\n1,2\n"}, {}, "needs the columns"),
        *(
            ({"a.txt": b"one"}, {"paths": paths}, "Choose the files again")
            for paths in ("no json", '["a.txt", "b.txt"]', "[1]", "7", '["\\ud800.txt"]')
        ),
    ],
)
def test_uploads(mia, files, data, words):
    assert words in refused_upload(mia, files, **data)


def test_more_than_the_limit(mia, settings, monkeypatch):
    monkeypatch.setattr("annotations.formats.files.zips.MOST_ENTRIES", 2)
    assert "holds more than" in refused_upload(mia, {"notes.zip": zipped({f"n{n}.txt": b"text" for n in range(3)})})
    settings.UPLOAD_MAX_BYTES = 1024
    assert "are allowed" in refused_upload(mia, {"a.txt": b"x" * 2000})


def test_bad_pastes(mia):
    names = ("", "../x", "ward/x", ".hidden", "README", "x" * 241, "x\u202ey")
    for body in ({"name": "x", "text": "  \r\n "}, *({"name": name, "text": "x"} for name in names)):
        response = mia.post(PAGE, body | {"do": "paste"})
        assert response.status_code == 422 and "errorlist" in check_page(response), body
    assert not Import.objects.exists()


class Unread(io.BytesIO):
    def read(self, *args):
        raise AssertionError("the body was read")


@pytest.mark.parametrize("signed_in", [True, False])
def test_a_gigabyte_is_refused_unread(mia, signed_in):
    client = mia if signed_in else Client()
    given = {"CONTENT_LENGTH": str(1 << 30), "wsgi.input": Unread()}
    response = client.generic("POST", PAGE, b"", content_type="multipart/form-data; boundary=x", **given)
    assert response.status_code == 413 and "200 MB" in check_page(response)
    assert response["Cache-Control"] == "no-store"
    response = client.generic("POST", PAGE, b"", HTTP_ACCEPT="application/json", **given)
    assert (response.status_code, response.json()) == (413, {"error": "too-large", "limit_mb": 200})


def test_a_length_must_be_given(mia):
    for length, status in (("", 422), ("-5", 411), ("1e9", 411), ("١٢", 411)):
        assert mia.generic("POST", PAGE, b"", CONTENT_LENGTH=length).status_code == status
    response = mia.generic("POST", PAGE, b"", HTTP_TRANSFER_ENCODING="chunked")
    assert response.status_code == 411
    check_page(response)


def test_too_many_files_for_one_form(mia):
    with patch.object(settings, "DATA_UPLOAD_MAX_NUMBER_FILES", 2):
        assert upload(mia, {f"{n}.txt": b"x" for n in range(3)}).status_code == 400
    assert not Import.objects.exists()


# ── Zips ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def outside(name):
    entry = zipfile.ZipInfo("placeholder")
    entry.filename = name
    return zipped([(entry, b"x")])


def test_a_zip_is_refused_before_it_is_stored(world, settings):
    cases = [(outside(name), "leads outside") for name in ("x/../../a.txt", "/etc/a.txt", "..\\a.txt", "C:/a.txt")]
    stored = zipped(brat("a", "è" * 9000), zipfile.ZIP_STORED)
    cases += [(zipped({"a.txt": b"0" * 1_000_000}), "unpacked"), (stored, "are allowed")]
    settings.UPLOAD_MAX_BYTES = 10_000
    for content, words in cases:
        with pytest.raises(ServiceError, match=words):
            stage(world.project, content)
    assert not Import.objects.exists() and not StoredFile.objects.exists()


def test_a_damaged_file_inside_a_zip_is_refused_and_the_others_are_imported(world):
    data = bytearray(zipped({"bad.txt": "".join(map(str, range(500))), "good.txt": "fine"}))
    data[50:80] = bytes(byte ^ 0xFF for byte in data[50:80])
    source = importing.ZipSource(io.BytesIO(data))
    report = importing.import_source(project=world.project, source=source, format="text")
    assert (report["notes"], codes(report)) == (1, ["zip"])


def names_of(*names: str) -> list[str]:
    return ZipSource(pack([(name, b"x") for name in names])).names()


def test_hidden_files_are_skipped_but_a_dot_that_means_the_folder_itself_hides_nothing():
    hidden = (".DS_Store", "a/.git/b.txt", "__MACOSX/a.txt", "a/__MACOSX/b.txt", ".a/b.txt", "one.d/.../x")
    assert names_of("a/one.txt", "b/two.txt", *hidden) == ["a/one.txt", "b/two.txt"]
    for name in ("./one.txt", "a/./one.txt", "a//one.txt"):
        assert name in names_of(name, "other.txt", "b/two.txt")


def test_a_file_is_read_whole_after_the_archive_was_opened():
    assert ZipSource(io.BytesIO(zipped({"a.txt": b"note " * 100_000}))).load("a.txt") == b"note " * 100_000


# A file that somebody names brings the text or the annotations of the same name, and no other file.


BESIDE = ["a.txt", "a.ann", "a.conll", "a.jsonl", "a.xml", "a.b.txt"]


@pytest.mark.parametrize(
    ("named", "taken"),
    [
        ("a.jsonl", ["a.jsonl"]), ("a.xml", ["a.xml"]), ("a.ann", ["a.ann", "a.txt"]),
        ("a.conll", ["a.conll", "a.txt"]), ("a.txt", ["a.ann", "a.conll", "a.txt"]),
    ],
)  # fmt: skip
def test_the_files_of_a_path(tmp_path, named, taken):
    for name in BESIDE:
        (tmp_path / name).write_text("")
    assert FileSource(tmp_path / named).names() == taken
