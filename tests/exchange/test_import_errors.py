"""Uploads, pasted texts and zips that are refused as a whole, and the names of files inside a zip."""

import io
import json
import zipfile
from unittest.mock import patch

import pytest
from django.conf import settings
from django.test import Client

from annotations.core.errors import ServiceError
from annotations.exchange.services import importing
from annotations.exchange.services.sources import ZipSource
from annotations.models import Import, StoredFile
from tests.exchange.brat_files import brat, codes, stage, zipped
from tests.exchange.import_pages import PAGE
from tests.worlds.checks import check_page
from tests.worlds.managing import upload, zip_of

ENCRYPTED = bytearray(zip_of({"a.txt": b"one"}))
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
        ({"notes.zip": zip_of({"../out.txt": b"x"})}, {}, "leads outside"),
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
    assert "holds more than" in refused_upload(mia, {"notes.zip": zip_of({f"n{n}.txt": b"text" for n in range(3)})})
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


def bomb():
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.txt", b"0" * 1_000_000)
    return buffer


def outside(name):
    entry = zipfile.ZipInfo("placeholder")
    entry.filename = name
    return zipped((entry, b"x"))


def test_a_zip_is_refused_before_it_is_stored(world, settings):
    cases = [(outside(name), "leads outside") for name in ("x/../../a.txt", "/etc/a.txt", "..\\a.txt", "C:/a.txt")]
    settings.UPLOAD_MAX_BYTES = 10_000
    for content, words in (*cases, (bomb(), "unpacked"), (zipped(*brat("a", "è" * 9000)), "are allowed")):
        with pytest.raises(ServiceError, match=words):
            stage(world.project, content)
    assert not Import.objects.exists() and not StoredFile.objects.exists()


def test_a_damaged_file_inside_a_zip_is_refused_and_the_others_are_imported(world):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bad.txt", "".join(map(str, range(500))))
        archive.writestr("good.txt", "fine")
    data = bytearray(packed.getvalue())
    data[50:80] = bytes(byte ^ 0xFF for byte in data[50:80])
    source = importing.ZipSource(io.BytesIO(data))
    report = importing.import_source(project=world.project, source=source, format="text")
    assert (report["notes"], codes(report)) == (1, ["zip"])


def test_a_zip_with_two_files_of_one_name_is_refused():
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive, pytest.warns(UserWarning):
        archive.writestr("n.txt", "first")
        archive.writestr("n.txt", "second")
    with pytest.raises(ServiceError, match="two files named"):
        importing.ZipSource(packed)


def names_of(*names: str) -> list[str]:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name in names:
            archive.writestr(name, b"x")
    return ZipSource(packed).names()


def test_hidden_files_are_skipped_but_a_dot_that_means_the_folder_itself_hides_nothing():
    hidden = (".DS_Store", "a/.git/b.txt", "__MACOSX/a.txt", "a/__MACOSX/b.txt", ".a/b.txt", "one.d/.../x")
    assert names_of("a/one.txt", "b/two.txt", *hidden) == ["a/one.txt", "b/two.txt"]
    for name in ("./one.txt", "a/./one.txt", "a//one.txt"):
        assert name in names_of(name, "other.txt", "b/two.txt")


def test_a_single_top_folder_is_dropped():
    assert names_of("all/one.txt", "all/b/two.txt", "__MACOSX/all/._one.txt") == ["b/two.txt", "one.txt"]
    assert names_of("all/one.txt", "two.txt") == ["all/one.txt", "two.txt"]
    assert names_of() == []


def test_a_file_is_read_whole_after_the_archive_was_opened():
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.txt", b"note " * 100_000)
    assert ZipSource(packed).load("a.txt") == b"note " * 100_000
