"""Archives as a format of the commands for exports and imports, and on the page for imports."""

import io
import json

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotations.formats.files.archives import is_archive
from annotations.models import Import, Project
from tests.ops.archives.archived_world import full_project, zipped
from tests.worlds.pages import sign_in

__all__ = ["sign_in"]
pytestmark = pytest.mark.django_db(transaction=True)


def called(*words: object) -> str:
    out = io.StringIO()
    call_command(*map(str, words), stdout=out)
    return out.getvalue()


def test_a_project_moves_with_archive_as_the_format(tmp_path, sign_in):
    world = full_project()
    out = tmp_path / "covid.zip"
    assert called("export_documents", "covid", out, "--format", "archive").startswith(f"file: {out}\n")
    assert "project: copy\n" in called("import_documents", "copy", out)
    told = json.loads(called("import_documents", "second", out, "--format", "archive", "--json"))
    assert (told["project"], Project.objects.filter(slug__in=["copy", "second"]).count()) == ("second", 2)
    export = ("export_documents", "covid", tmp_path / "x.zip", "--format")
    for words, message in (
        (("import_documents", "covid", out), "“covid” already exists"),
        (("import_documents", "third", out, "--as", "gold", "--language", "it"), "--as, --language"),
        ((*export, "archive", "--set", "gold", "--sentences"), "--set, --sentences"),
        ((*export, "brat"), "which annotations to export"),
    ):
        with pytest.raises(CommandError, match=message):
            called(*words)
    assert not Project.objects.filter(slug="third").exists()
    # The page for imports says where archives are imported.
    form = {"do": "files", "format": "auto", "annotations": "none", "files": out.open("rb")}
    answer = sign_in(world.mia).post(reverse("import", args=["covid"]), form)
    assert answer.status_code == 422 and "a project of its own" in answer.content.decode()
    assert not Import.objects.filter(stored_file__name="covid.zip").exists()


def test_other_files_are_no_archives():
    for data in (b"", b"PK", zipped([("a.txt", b"")]), zipped([("manifest.json", b"[")])):
        assert not is_archive(io.BytesIO(data))
