"""Attributes from file to file: import, gold, frozen version, export; what the labels lack is reported."""

import re
from pathlib import Path

import pytest
from django.urls import reverse
from django.utils import timezone

from annotations.core.services import ServiceError
from annotations.exchange.services.exporting import export_to_path
from annotations.exchange.services.importing import import_files
from annotations.gold.selectors import has_changed
from annotations.gold.services.making import freeze, make_gold
from annotations.models import AnnotationSet, Author, GoldVersionNote, Import, ImportState, Label, Span
from tests import factories as make
from tests.exchange.brat_files import brat
from tests.worlds.checks import check_page

pytestmark = pytest.mark.django_db

TEXT = "Mario Rossi a Torino"
ANN = "T1\tPATIENT 0 11\tMario Rossi\nT2\tCITY 14 20\tTorino\nA1\tFamily T1\nA2\tStatus T2 past\n"


@pytest.fixture
def project():
    made = make.make_project("covid")
    Label.objects.filter(name="PATIENT").update(attributes=[{"name": "Family"}])
    Label.objects.filter(name="CITY").update(attributes=[{"name": "Status", "values": ["current", "past"]}])
    return made


def take(project, ann=ANN):
    return import_files(project=project, files=brat("a", TEXT, ann), format="brat", written_as="annotator:ann")


def take_as_gold(project):
    take(project)
    note_set = AnnotationSet.objects.select_related("document").get()
    make_gold(document=note_set.document, annotation_set=note_set, actor=None)
    return note_set


def attributes(kind="annotator"):
    rows = Span.objects.filter(annotation_set__author__kind=kind).order_by("start")
    return list(rows.values_list("label__name", "attributes"))


WANTED = [("PATIENT", {"Family": True}), ("CITY", {"Status": "past"})]


def test_from_file_to_gold_to_file(project, tmp_path: Path):
    take_as_gold(project)
    assert attributes() == WANTED
    assert Import.objects.get().report["warnings"] == []
    assert attributes("gold") == WANTED
    version, _ = freeze(project=project, actor=None)
    assert [len(span) for span in GoldVersionNote.objects.get().spans] == [5, 5]
    assert not has_changed(version)
    for spec in ("annotator:ann", "gold", "gold:1"):
        out = tmp_path / spec.replace(":", "-")
        export_to_path(project=project, out=out, format="brat", set_spec=spec)
        assert (out / "a.ann").read_text() == ANN
        assert "Status\tArg:CITY, Value:current|past\n" in (out / "annotation.conf").read_text()
    lost = export_to_path(project=project, out=tmp_path / "conll", format="conll", set_spec="gold:1")
    assert [loss["reason"].split()[-1] for loss in lost["losses"]] == ["Family.", "Status."]


def test_attributes_count_in_versions_and_in_gold(project):
    note_set = take_as_gold(project)
    first, _ = freeze(project=project, actor=None)
    Span.objects.filter(annotation_set=note_set).update(attributes=None)
    with pytest.raises(ServiceError, match="other gold"):
        make_gold(document=note_set.document, annotation_set=note_set, actor=None)
    make_gold(document=note_set.document, annotation_set=note_set, actor=None, replace=True)
    second, new = freeze(project=project, actor=None)
    assert new and second.content_hash != first.content_hash
    assert [len(span) for span in second.notes.get().spans] == [4, 4]


def test_what_the_labels_lack_is_reported(project):
    report = take(project, ANN.replace("past", "future") + "A3\tHidden T1\nA4\tHidden T2\n")
    assert attributes() == [("PATIENT", {"Family": True}), ("CITY", None)]
    assert [(line["file"], line["code"]) for line in report["warnings"]] == [("a", "not kept")] * 3
    messages = [line["message"].split(" of ")[0] for line in report["warnings"]]
    assert messages == [f"The attribute “{name}”" for name in ("Hidden", "Status", "Hidden")]


def test_an_import_twice_and_with_other_attributes(project):
    take(project)
    assert take(project)["already_there"] == 1
    report = take(project, ANN.replace("past", "current"))
    assert [line["code"] for line in report["refused"]] == ["other-reading"]
    assert attributes() == WANTED


# Work that files or archives brought is marked wherever its author is shown.


PLACES = ["project", "scores", "export", "release_new", "notes"]


@pytest.fixture
def marked(world):
    """A run and an annotator whose sets a file brought, a run from here, and gold."""
    done = {"project": world.project, "state": ImportState.DONE, "finished_at": timezone.now()}
    for kind, name, spec in (
        ("run", "theirs", "run:theirs"), ("annotator", "jeff", "annotator:jeff"), ("run", "here-1", ""),
    ):  # fmt: skip
        author = make.make_author(world.project, kind=kind, name=name)
        made = make.make_set(world.note, author, [(0, 11, "PATIENT")], submitted=True)
        if spec:
            make.change(made, imported_by=Import.objects.create(format="brat", written_as=spec, **done))
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
    make.change(marked.project, anonymous_adjudication=True)
    assert "data-imported" not in client.get(reverse("agreement", args=["covid"])).content.decode()
