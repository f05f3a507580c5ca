"""Attributes from file to file: import, gold, frozen version, export; what the labels lack is reported."""

from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from annotations.core.errors import ServiceError
from annotations.gold.selectors import has_changed
from annotations.gold.services.making import freeze, make_gold
from annotations.models import AnnotationSet, GoldVersionNote, Label, Span
from annotations.ops.services.erasing import erase_patient
from annotations.transfer.services.exporting import export_to_path
from annotations.transfer.services.importing import import_files
from tests import factories as make

pytestmark = pytest.mark.django_db

TEXT = "Mario Rossi a Torino"
ANN = "T1\tPATIENT 0 11\tMario Rossi\nT2\tCITY 14 20\tTorino\nA1\tFamily T1\nA2\tStatus T2 past\n"


@pytest.fixture
def project():
    made = make.make_project("covid")
    Label.objects.filter(name="PATIENT").update(attributes=[{"name": "Family"}])
    Label.objects.filter(name="CITY").update(attributes=[{"name": "Status", "values": ["current", "past"]}])
    return made


def take(project, ann=ANN, name="a", **options):
    files = [(f"{name}.txt", TEXT.encode()), (f"{name}.ann", ann.encode())]
    return import_files(project=project, files=files, format="brat", **{"written_as": "annotator:ann"} | options)


def attributes(kind="annotator"):
    rows = Span.objects.filter(annotation_set__author__kind=kind).order_by("start")
    return list(rows.values_list("label__name", "attributes"))


WANTED = [("PATIENT", {"Family": True}), ("CITY", {"Status": "past"})]


def test_from_file_to_gold_to_file(project, tmp_path: Path):
    report = take(project)
    assert report["warnings"] == [] and report["spans"] == 2
    assert attributes() == WANTED
    note_set = AnnotationSet.objects.get()
    make_gold(document=note_set.document, annotation_set=note_set, actor=None)
    assert attributes("gold") == WANTED
    version, _ = freeze(project=project, actor=None)
    assert [len(span) for span in GoldVersionNote.objects.get().spans] == [5, 5]
    assert not has_changed(project, version)
    for spec in ("annotator:ann", "gold", "gold:1"):
        out = tmp_path / spec.replace(":", "-")
        export_to_path(project=project, out=out, format="brat", set_spec=spec)
        assert (out / "a.ann").read_text() == ANN
        assert "Status\tArg:CITY, Value:current|past\n" in (out / "annotation.conf").read_text()
    lost = export_to_path(project=project, out=tmp_path / "conll", format="conll", set_spec="gold:1")
    assert [loss["reason"] for loss in lost["losses"]] == [
        "Attributes are not exported: Family.", "Attributes are not exported: Status.",
    ]  # fmt: skip


def test_attributes_count_in_versions_and_in_gold(project):
    take(project)
    note_set = AnnotationSet.objects.get()
    make_gold(document=note_set.document, annotation_set=note_set, actor=None)
    first, _ = freeze(project=project, actor=None)
    Span.objects.filter(annotation_set=note_set).update(attributes=None)
    with pytest.raises(ServiceError, match="other gold"):
        make_gold(document=note_set.document, annotation_set=note_set, actor=None)
    make_gold(document=note_set.document, annotation_set=note_set, actor=None, replace=True)
    second, new = freeze(project=project, actor=None)
    assert new and second.content_hash != first.content_hash
    assert [len(span) for span in second.notes.get().spans] == [4, 4]


def test_what_the_labels_lack_is_reported(project):
    ann = ANN.replace("past", "future") + "A3\tHidden T1\nA4\tHidden T2\n"
    report = take(project, ann)
    assert attributes() == [("PATIENT", {"Family": True}), ("CITY", None)]
    assert [(line["file"], line["code"]) for line in report["warnings"]] == [("a", "not kept")] * 3
    assert [line["message"].split(" of ")[0] for line in report["warnings"]] == [
        "The attribute “Hidden”", "The attribute “Status”", "The attribute “Hidden”",
    ]  # fmt: skip
    assert "1 span with the label CITY" in report["warnings"][0]["message"]


def test_an_import_twice_and_with_other_attributes(project):
    take(project)
    assert take(project)["already_there"] == 1
    report = take(project, ANN.replace("past", "current"))
    assert [line["code"] for line in report["refused"]] == ["other-reading"]
    assert attributes() == WANTED


def test_a_label_set_gets_its_attributes_by_command(project):
    out = StringIO()
    call_command("rename_label", "covid", "AGE", "--attributes", "Family", "Status: a | b c", stdout=out)
    assert Label.objects.get(name="AGE").attributes == [{"name": "Family"}, {"name": "Status", "values": ["a", "b c"]}]


def test_erasing_a_patient_reaches_attributes(project):
    take(project)
    note_set = AnnotationSet.objects.select_related("document").get()
    note_set.document.patient_id = "p1"
    note_set.document.save()
    make_gold(document=note_set.document, annotation_set=note_set, actor=None)
    freeze(project=project, actor=None)
    erase_patient(project=project, patient_id="p1", actor=None)
    assert not Span.objects.exists() and not GoldVersionNote.objects.exists()
