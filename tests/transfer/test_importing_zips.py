"""Import of zips: which are refused before anything is stored, and damaged files in them."""

import io
import zipfile

import pytest

from annotations.core.errors import ServiceError
from annotations.models import Import, StoredFile
from annotations.transfer.services import importing
from tests.factories import make_project
from tests.transfer.brat_files import brat, codes, stage, zipped

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("name", ["../a.txt", "x/../../a.txt", "/etc/a.txt", "..\\a.txt", "C:/a.txt"])
def test_a_zip_that_leads_outside_is_refused(name):
    entry = zipfile.ZipInfo("placeholder")
    entry.filename = name
    with pytest.raises(ServiceError, match="leads outside"):
        stage(make_project(), zipped((entry, b"x")))
    assert not Import.objects.exists()
    assert not StoredFile.objects.exists()


def test_a_file_that_is_not_a_zip_is_refused():
    with pytest.raises(ServiceError, match="not a readable zip"):
        stage(make_project(), io.BytesIO(b"plain"))


def test_an_upload_that_is_too_large_is_refused_before_it_is_stored(settings):
    settings.UPLOAD_MAX_BYTES = 50
    with pytest.raises(ServiceError, match="are allowed"):
        stage(make_project(), zipped(*brat()))
    assert not StoredFile.objects.exists()


def test_a_zip_bomb_is_refused(settings):
    settings.UPLOAD_MAX_BYTES = 10_000
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a.txt", b"0" * 1_000_000)
    with pytest.raises(ServiceError, match="unpacked"):
        stage(make_project(), buffer)


def test_a_damaged_file_inside_a_zip_is_refused_and_the_others_are_imported():
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bad.txt", "".join(map(str, range(500))))
        archive.writestr("good.txt", "fine")
    data = bytearray(packed.getvalue())
    data[50:80] = bytes(byte ^ 0xFF for byte in data[50:80])
    source = importing.ZipSource(io.BytesIO(data))
    report = importing.import_source(project=make_project(), source=source, format="text")
    assert (report["notes"], codes(report)) == (1, ["zip"])


def test_a_zip_with_two_files_of_one_name_is_refused():
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive, pytest.warns(UserWarning):
        archive.writestr("n.txt", "first")
        archive.writestr("n.txt", "second")
    with pytest.raises(ServiceError, match="two files named"):
        importing.ZipSource(packed)
