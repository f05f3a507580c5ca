"""Archives as a format of the commands for exports and imports, and on the page for imports."""

import io
import json

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotations.domain.files.archives import is_archive
from annotations.models import Import, Project
from tests.archives.archived_world import archive_of, full_project, zipped
from tests.worlds.pages import sign_in

__all__ = ["sign_in"]
pytestmark = pytest.mark.django_db(transaction=True)


def called(*words: object) -> str:
    out = io.StringIO()
    call_command(*map(str, words), stdout=out)
    return out.getvalue()


def test_a_project_moves_with_archive_as_the_format(tmp_path):
    full_project()
    out = tmp_path / "covid.zip"
    assert called("export_documents", "covid", out, "--format", "archive").startswith(f"Wrote {out}: ")
    assert "Imported project copy: " in called("import_documents", "copy", out)
    told = json.loads(called("import_documents", "second", out, "--format", "archive", "--json"))
    assert (told["project"], Project.objects.filter(slug__in=["copy", "second"]).count()) == ("second", 2)
    with pytest.raises(CommandError, match="“covid” already exists"):
        called("import_documents", "covid", out)


def test_options_for_notes_are_refused_with_an_archive(tmp_path):
    out = tmp_path / "covid.zip"
    out.write_bytes(archive_of(full_project().project))
    with pytest.raises(CommandError, match="--as, --language"):
        called("import_documents", "copy", out, "--as", "gold", "--language", "it")
    with pytest.raises(CommandError, match="--set, --sentences"):
        called("export_documents", "covid", tmp_path / "x.zip", "--format", "archive", "--set", "gold", "--sentences")
    with pytest.raises(CommandError, match="Say which annotations to export"):
        called("export_documents", "covid", tmp_path / "x", "--format", "brat")
    assert not Project.objects.filter(slug="copy").exists()


def test_the_import_page_says_where_archives_are_imported(sign_in):
    world = full_project()
    file = io.BytesIO(archive_of(world.project))
    file.name = "covid.zip"
    answer = sign_in(world.mia).post(
        reverse("import", args=["covid"]), {"do": "files", "format": "auto", "annotations": "none", "files": file}
    )
    assert answer.status_code == 422
    assert "which becomes a project of its own" in answer.content.decode()
    assert not Import.objects.filter(stored_file__name="covid.zip").exists()


@pytest.mark.parametrize(
    "data",
    [b"", b"PK", zipped([("a.txt", b"")]), zipped([("manifest.json", b"[")]), zipped([("manifest.json", b"{}")])],
)
def test_other_files_are_no_archives(data):
    assert not is_archive(io.BytesIO(data))
