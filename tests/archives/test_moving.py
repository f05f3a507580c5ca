"""A project moved to another instance: export, import and export again give the same archive."""

import io
import json

import pytest
from django.core.management import call_command

from annotations.agreement.services.figures import figures_of
from annotations.archives.services.reading import import_archive
from annotations.domain.agreement.units import Unit
from annotations.models import Document, GoldVersion, Project, Span, SuggestedString
from annotations.scores.services.scoring import score, score_request
from tests import factories as make
from tests.archives.archived_world import archive_of, command, files_of, full_project

# Parts of a score that hold primary keys or names of the instance.
IDS = {"author_id", "project"}
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def world():
    return full_project()


def without_manifest(archive):
    return {name: data for name, data in files_of(archive).items() if name != "manifest.json"}


def test_every_table_has_rows(world):
    archive = archive_of(world.project)
    empty = [name for name, data in without_manifest(archive).items() if not data]
    assert not empty


def test_beside_the_original_project_the_copy_has_the_same_archive(world):
    archive = archive_of(world.project)
    imported = import_archive(file=io.BytesIO(archive), slug="copy")
    assert imported.accounts == 0
    again = archive_of(Project.objects.get(slug="copy"))
    assert without_manifest(again) == without_manifest(archive)


def test_on_another_instance_the_archive_is_byte_identical(world, tmp_path):
    file, second = tmp_path / "one.zip", tmp_path / "two.zip"
    written = command("export_archive", "covid", file)
    shares = shares_of(world.project)
    call_command("flush", interactive=False, verbosity=0)
    # Other rows come first, so that no primary key is the same by chance.
    other_rows()
    found = command("import_archive", file)
    assert (found["people"], found["accounts"]) == (6, 5)
    assert (found["project"], found["notes"]) == ("covid", written["notes"])
    command("export_archive", "covid", second)
    one, two = files_of(file.read_bytes()), files_of(second.read_bytes())
    manifests = [json.loads(files.pop("manifest.json")) for files in (one, two)]
    assert one == two
    for manifest in manifests:
        manifest.pop("made_at")
    assert manifests[0] == manifests[1]
    assert shares_of(Project.objects.get(slug="covid")) == shares


def other_rows():
    """Rows of another project, and an account that the archive names too."""
    other = make.make_project("other")
    note = make.make_note(other)
    make.make_set(note, make.make_member(other, user="zoe"), [(0, 11, "PATIENT")])
    make.make_set(note, make.make_author(other, kind="gold", name="gold"), [(0, 11, "PATIENT")])
    make.make_user("mia")


def shares_of(project):
    """Everything that is computed from the project: hashes, agreement, scores, strings for review."""
    scored = score(score_request(project, version=1, author="run:rules-1"))
    strings = SuggestedString.objects.filter(author__project=project).order_by("author__name", "string_key", "label_id")
    figures = {str(unit): figures_of(project=project, unit=unit)["granularities"] for unit in Unit}
    return {
        "hashes": list(GoldVersion.objects.filter(project=project).values_list("number", "content_hash")),
        "strings": list(strings.values_list("author__name", "string_key", "count", "open", "scored", "uncertainty")),
        "spans": Span.objects.filter(annotation_set__document__project=project).count(),
        "texts": list(Document.objects.filter(project=project).order_by("pk").values_list("name", "text")),
        "figures": figures,
        "scored": {key: value for key, value in scored.table.items() if key not in IDS},
    }
