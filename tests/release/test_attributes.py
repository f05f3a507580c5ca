"""Attributes of released spans go through the leak gate: what identifies somebody there holds the note back."""

import json

import pytest

from annotations.models import Label, LeakFinding, Span
from annotations.release.services.deciding import answer_chosen
from annotations.text.attributes import as_text
from tests import factories as make
from tests.release.conftest import add_note, new_project, release_command
from tests.worlds.programs import Program
from tests.worlds.released import make_release

pytestmark = pytest.mark.django_db


@pytest.fixture
def ward(db, no_redis):
    project = new_project()
    add_note(project, "en-1", "Seen: «Adam Wilson|PATIENT».\n", language="en", patient_id="P-00417")
    add_note(project, "en-2", "MRN «8841207|MEDICALRECORD».\n", language="en", patient_id="P-00417")
    return project


def give(project, attributes, *, defined=True):
    """Give the first name these attributes, which its label defines."""
    label = Label.objects.get(label_set__project=project, code="PATIENT")
    label.attributes = [
        {"name": name} if value is True else {"name": name, "values": [value]} for name, value in attributes.items()
    ] if defined else []  # fmt: skip
    label.save()
    Span.objects.filter(label=label).update(attributes=attributes)


@pytest.mark.parametrize(
    ("attributes", "strings"),
    [
        ({"role": "patient", "deceased": True}, []),
        ({"who": "Adam Wilson"}, ["Adam Wilson"]),  # labeled in the note
        ({"Adam_Wilson": True}, ["Adam_Wilson"]),
        ({"who": "AdamWilson"}, ["AdamWilson"]),
        ({"who": "wilson, MRN 8841207"}, ["wilson", "8841207"]),  # labeled in another note of the patient
        ({"who": "P-00417"}, ["P-00417"]),
        ({"who": "Dr. Helen Marsh"}, ["Helen Marsh"]),  # nobody labeled it: found by the rules
        ({"who": "bed 4471"}, ["4471"]),
        ({"who": "marsh@wardpost.org"}, ["marsh@wardpost.org"]),
        ({"seen": "12/03/2021"}, ["12/03/2021"]),
    ],
)
def test_identifiers_in_attributes_are_findings(ward, attributes, strings):
    give(ward, attributes)
    make_release(ward)
    line = as_text(tuple(sorted(attributes.items())))
    found = LeakFinding.objects.filter(where="attr").order_by("start")
    assert [line[one.start : one.end] for one in found] == strings
    assert LeakFinding.objects.exclude(where="attr").count() == 0
    assert set(found.values_list("note__state", flat=True)) <= {"held"}


def test_a_decision_removes_attributes_and_is_undone(ward, sign_in):
    give(ward, {"who": "present"}, defined=False)  # the label doesn't define it
    release = make_release(ward)
    found = LeakFinding.objects.get()
    assert (found.where, found.start, found.end, found.origin) == ("attr", 0, 12, "shape")
    mara = make.make_member(ward, "manager", "mara")
    client, path = sign_in(mara), f"/projects/ward/releases/{release.number}/"
    assert "<mark>who: present</mark>" in client.get(path + "findings/").content.decode()
    answer_chosen(release=release, answer="replace", actor=None)
    row = release.notes.get(pk=found.note_id)
    assert (row.state, row.spans) == ("done", [[6, 15, "PATIENT"]])
    assert client.get(path + "findings/?show=all").status_code == 200
    answer_chosen(release=release, answer="undo", findings=[found.pk], actor=None)
    row.refresh_from_db()
    assert (row.state, row.spans) == ("held", [[6, 15, "PATIENT", {"who": "present"}]])
    read = Program(mara).get(f"{path.removesuffix('/')}/notes/{row.document_id}")
    assert read.status_code == 200 and len(read.json()["released_spans"]) == 1


def test_the_command_writes_no_attributes_with_open_findings(ward, tmp_path):
    give(ward, {"who": "Adam Wilson"})
    out = tmp_path / "out"
    release_command("ward", "--set", "gold", "--policy", "mask", "--out", out, "--format", "jsonl")
    notes = [json.loads(line) for line in (out / "notes.jsonl").read_text().splitlines()]
    assert len(notes) == 1 and "Wilson" not in json.dumps(notes)


def test_configuration_files_name_only_attributes_of_released_spans(ward, tmp_path):
    give(ward, {"who": "Adam Wilson"})
    add_note(ward, "en-3", "Seen: «Bea Lund|PATIENT».\n", language="en", patient_id="P-2")
    Label.objects.filter(code="PATIENT").update(attributes=[{"name": "who", "values": ["Adam Wilson", "relative"]}])
    Span.objects.filter(annotation_set__document__name="en-3").update(attributes={"who": "relative"})
    release_command("ward", "--set", "gold", "--policy", "mask", "--out", tmp_path / "out", "--format", "brat")
    texts = [path.read_text() for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert any("Value:relative" in text for text in texts) and not any("Wilson" in text for text in texts)
