"""Uploads and pasted texts that the import page refuses as a whole."""

import io
import json
import zipfile
from unittest.mock import patch

import pytest
from django.conf import settings
from django.test import Client

from annotations.models import Import, StoredFile
from tests.transfer.import_pages import PAGE
from tests.worlds.checks import check_page
from tests.worlds.managing import upload, zip_of


def refused_upload(mia, files, **data):
    """Return the HTML after a refused upload, and check that nothing was stored."""
    response = upload(mia, files, **data)
    assert response.status_code == 422
    assert not Import.objects.exists()
    assert not StoredFile.objects.exists()
    return check_page(response)


def test_nothing_chosen(mia):
    html = refused_upload(mia, {}, language="it")
    assert "Choose at least one file" in html
    assert 'value="it"' in html  # the form keeps what was typed


@pytest.mark.parametrize(
    "content, words",
    [
        (zip_of({"../out.txt": b"x"}), "path that leads outside"),
        (zip_of({"a/../../out.txt": b"x"}), "path that leads outside"),
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
    assert "path that leads outside" in refused_upload(mia, {"../a.txt": b"x", "b.txt": b"y"})


@pytest.mark.parametrize("paths", ["no json", '["a.txt", "b.txt"]', "[1]", "7", '["\\ud800.txt"]'])
def test_paths_that_do_not_match_the_files(mia, paths):
    html = refused_upload(mia, {"a.txt": b"one"}, paths=paths)
    assert "Choose the files again" in html


def test_two_files_of_one_name(mia):
    html = refused_upload(mia, {"a.txt": b"one", "b.txt": b"two"}, paths=json.dumps(["x/a.txt", "x/a.txt"]))
    assert "Two files are named “x/a.txt”" in html


def test_the_author_of_the_annotations_is_required(mia):
    html = refused_upload(mia, {"a.txt": b"one"}, format="brat", annotations="annotator")
    assert "Enter a name for the author of the annotations" in html
    html = refused_upload(mia, {"a.txt": b"one"}, annotations="gold")
    assert "Plain text holds no annotations" in html
    refused_upload(mia, {"a.txt": b"one"}, format="docx")


def test_a_patients_file_that_cannot_be_read(mia):
    assert "needs the columns" in refused_upload(mia, {"a.txt": b"one", "patients.csv": b"who,what\n1,2\n"})


def test_more_than_the_limit(mia, settings):
    settings.UPLOAD_MAX_BYTES = 1024
    assert "are allowed" in refused_upload(mia, {"a.txt": b"x" * 2000})


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


def test_an_archive_of_too_many_files(mia, monkeypatch):
    monkeypatch.setattr("annotations.domain.files.zips.MOST_ENTRIES", 2)
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for number in range(3):
            archive.writestr(f"n{number}.txt", "text")
    packed.seek(0)
    packed.name = "notes.zip"
    response = mia.post(PAGE, {"do": "files", "files": [packed], "format": "text"})
    assert response.status_code == 422
    assert "The archive holds more than" in check_page(response)
    assert not Import.objects.exists()


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
    assert "An upload can have at most 200 MB" in html
    assert response["Cache-Control"] == "no-store"


def test_the_limit_answers_with_json(mia):
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
    assert "The size of the upload" in check_page(response)


def test_too_many_files_for_one_form(mia):
    with patch.object(settings, "DATA_UPLOAD_MAX_NUMBER_FILES", 2):
        assert upload(mia, {f"{n}.txt": b"x" for n in range(3)}).status_code == 400
    assert not Import.objects.exists()
