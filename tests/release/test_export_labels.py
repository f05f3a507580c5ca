"""Attributes of spans in exported releases, and labels that an export writes in another way."""

import json

import pytest
from django.core.management import CommandError
from django.urls import reverse

from annotations.core.services import ServiceError
from annotations.exchange.services.label_mappings import ExportLabels, add_mapping, change_mapping
from annotations.gold.services.making import freeze
from annotations.models import Event, Job, Label, LabelMapping, Release, Span, StoredFile
from annotations.release.services.exporting import start_release_export
from tests.factories import change
from tests.release.conftest import release_command
from tests.worlds.queue import worked
from tests.worlds.released import make_release

ROLE = {"role": "patient", "deceased": True}


@pytest.fixture
def noted(ward):
    """Like `ward`; the first name of each note has attributes that the project's label allows."""
    label = Label.objects.get(label_set__project=ward.project, code="PATIENT")
    change(label, attributes=[{"name": "role", "values": ["patient", "relative"]}, {"name": "deceased"}])
    for note in ward.notes.values():
        first = Span.objects.filter(annotation_set__document=note, label=label).order_by("start").first()
        Span.objects.filter(pk=first.pk).update(attributes=ROLE)
    return ward


def lines_of(folder):
    return {row["name"]: row for row in map(json.loads, (folder / "notes.jsonl").read_text().splitlines())}


def test_spans_keep_their_attributes_at_their_new_places(noted, tmp_path):
    freeze(project=noted.project, actor=noted.manager)
    for number, chosen in enumerate(("gold", "gold:1")):
        out = tmp_path / f"out{number}"
        release_command("ward", "--set", chosen, "--policy", "mask", "--out", out, "--format", "jsonl")
        note = lines_of(out)["en-1"]
        first, *others = note["spans"]
        assert (first["text"], first["attributes"]) == ("[PATIENT]", ROLE)
        assert note["text"][first["start"] : first["end"]] == "[PATIENT]"
        assert not any("attributes" in span for span in others)


def test_the_command_writes_other_codes_and_leaves_labels_out(ward, tmp_path):
    result = release_command(
        "ward", "--set", "gold", "--policy", "mask", "--out", tmp_path / "out", "--format", "jsonl",
        "--map-label", "PATIENT=PER", "--map-label", "DOCTOR=PER", "--skip-label", "DATE",
    )  # fmt: skip
    notes = lines_of(tmp_path / "out")
    labels = {span["label"] for note in notes.values() for span in note["spans"]}
    assert "PER" in labels and not labels & {"PATIENT", "DOCTOR", "DATE"}
    assert "[PATIENT]" in notes["en-1"]["text"] and "2019" not in notes["en-1"]["text"]
    manifest = json.loads((tmp_path / "out" / "release.json").read_text())
    assert manifest["labels"] == result["labels"] and result["labels"]["left_out"] == 4
    assert result["spans"] == Release.objects.get().span_count - 4 == 21
    event = Event.objects.get(verb="release.exported")
    assert (event.data["mapping"], event.data["left_out"], event.data["merged"]) == (None, 4, 0)


def test_an_unknown_label_is_refused_before_anything_is_released(ward, tmp_path):
    with pytest.raises(CommandError, match="no label “NOBODY”"):
        release_command("ward", "--set", "gold", "--policy", "mask", "--out", tmp_path / "o", "--map-label", "NOBODY=X")
    assert not Release.objects.exists()


@pytest.fixture
def mapping(ward):
    """A mapping that writes every label as PHI, and leaves out dates."""
    row = add_mapping(project=ward.project, name="Only one label", target="", actor=ward.manager)
    labels = Label.objects.filter(label_set__project=ward.project, merged_into=None)
    codes = {pk: "" if code == "DATE" else "PHI" for pk, code in labels.values_list("pk", "code")}
    change_mapping(mapping=row, name=row.name, codes=codes, seen=None, actor=ward.manager)
    return row


@pytest.fixture
def release(ward):
    return make_release(ward.project, ward.manager)


def test_the_page_exports_with_a_label_mapping(release, mapping, ward, sign_in):
    client, path = sign_in(ward.manager), reverse("release", args=["ward", 1])
    assert "Only one label" in client.get(path).content.decode()
    sent = {"format": "brat", "labels": str(mapping.pk), "token": "5c1d3a0e-5b2a-4d3c-9a55-0a35c8b0c001"}
    client.post(reverse("release_export", args=["ward", 1]), sent)
    job = worked(Job.objects.get(kind="release_export"))
    assert (job.state, job.result["labels"]["written"], job.result["labels"]["left_out"]) == ("done", {"PHI": 21}, 4)
    assert "one-label" not in StoredFile.objects.get().name


def test_a_mapping_that_was_deleted_or_lacks_labels_exports_nothing(release, mapping, ward, sign_in):
    labels = ExportLabels({}, mapping.pk, mapping.name, "")
    with pytest.raises(ServiceError, match="lacks these labels"):
        start_release_export(release=release, format="brat", actor=ward.manager, labels=labels)
    LabelMapping.objects.all().delete()
    client = sign_in(ward.manager)
    sent = {"format": "brat", "labels": str(mapping.pk), "token": "5c1d3a0e-5b2a-4d3c-9a55-0a35c8b0c002"}
    page = client.post(reverse("release_export", args=["ward", 1]), sent, follow=True).content.decode()
    assert "no longer exists" in page and not Job.objects.filter(kind="release_export").exists()
