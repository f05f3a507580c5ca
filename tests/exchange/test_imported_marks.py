"""Work that files or archives brought is marked wherever its author is shown."""

import io
import json
import re

import pytest
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone

from annotations.exchange.forms.exports import set_choices
from annotations.models import Author, Import, ImportState
from tests import factories as make
from tests.worlds.checks import check_page
from tests.worlds.pages import made_world, sign_in, world
from tests.worlds.programs import Program

__all__ = ["made_world", "sign_in", "world"]
PLACES = ["project", "scores", "export", "release_new", "notes"]


@pytest.fixture
def marked(world):
    """A run and an annotator whose sets a file brought, a run from here, and gold."""
    done = {"project": world.project, "state": ImportState.DONE, "finished_at": timezone.now()}
    for kind, name, spec in (
        ("run", "theirs", "run:theirs"),
        ("annotator", "jeff", "annotator:jeff"),
        ("run", "here-1", ""),
    ):
        author = make.make_author(world.project, kind=kind, name=name)
        made = make.make_set(world.note, author, [(0, 11, "PATIENT")], submitted=True)
        if spec:
            made.imported_by = Import.objects.create(format="brat", written_as=spec, **done)
            made.save()
    make.make_set(
        world.note, make.make_author(world.project, kind="gold", name="gold"), [(0, 11, "PATIENT")], submitted=True
    )
    return world


@pytest.mark.parametrize("place", PLACES)
def test_pages_mark_imported_work(marked, sign_in, place):
    html = check_page(sign_in(marked.mia).get(reverse(place, args=["covid"])))
    text = " ".join(re.sub("<[^>]*>", " ", html).split())
    found = {
        name
        for name in ("theirs", "jeff", "here-1")
        if re.search(rf"{name}( \(?Model run\)?)?,? \(?imported", text, re.I)
    }
    assert found == {"theirs", "jeff"}


def test_choices_the_api_and_exports_mark_imported_work(marked, tmp_path):
    names = {one.spec: one.name for one in set_choices(marked.project)}
    assert [spec for spec, name in names.items() if "imported" in name] == ["annotator:jeff", "run:theirs"]
    rows = Program(marked.mia).get("/projects/covid/scores?gold=0").json()["items"]
    assert {row["name"] for row in rows if row["imported"]} == {"jeff", "theirs"}
    for name, imported in (("theirs", True), ("here-1", False)):
        out = str(tmp_path / name)
        call_command("export_documents", "covid", out, "--set", f"run:{name}", "--format", "brat", stdout=io.StringIO())
        assert json.loads((tmp_path / name / "export.json").read_text())["imported"] is imported


def test_an_archive_marks_its_runs_and_gold_but_nothing_that_came_later(marked):
    before = marked.project.imported_authors
    at = timezone.now()
    Import.objects.create(project=marked.project, format="archive", state=ImportState.DONE, finished_at=at)
    later = make.make_author(marked.project, kind="run", name="later")
    del marked.project.imported_authors
    names = set(Author.objects.filter(pk__in=marked.project.imported_authors).values_list("name", flat=True))
    assert names == {"theirs", "jeff", "here-1", "gold"} and later.pk not in before


def test_the_agreement_page_marks_imported_annotators_unless_their_names_are_hidden(marked, sign_in):
    make.make_set(marked.note, marked.ann, [(0, 5, "PATIENT")], submitted=True)
    client = sign_in(marked.rev)
    html = client.get(reverse("agreement", args=["covid"])).content.decode()
    assert html.count("data-imported") == 1 and re.search(r'<th scope="row">jeff\s*<span[^>]* data-imported', html)
    marked.project.anonymous_adjudication = True
    marked.project.save()
    assert "data-imported" not in client.get(reverse("agreement", args=["covid"])).content.decode()
