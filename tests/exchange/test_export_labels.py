"""Exports with other labels: preview, job, command, formats, and mappings that lack labels or were changed."""

import json
import uuid

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotations.core.services import ServiceError
from annotations.exchange.events import NOTES_EXPORTED
from annotations.exchange.services.exporting import export_to_path
from annotations.exchange.services.label_mappings import labels_of_mapping
from annotations.gold.services.making import freeze
from annotations.jobs.runner import run as work
from annotations.models import Event, Job, JobState, MappedLabel, StoredFile
from annotations.projects.services.labels import add_label, merge_labels
from tests import factories as make
from tests.exchange.brat_files import SPANS, files_of, make_mapping
from tests.held import made_once
from tests.worlds.checks import check_page
from tests.worlds.pages import make_world

START = reverse("job_start_export", args=["covid"])
PREVIEW = reverse("export_preview", args=["covid"])
WRITTEN = {"NAME": 1, "WHEN": 1, "PLACE": 1}


def make_gold():
    """A mapping, and gold of two notes: one with all labels, one without spans."""
    world = make_world()
    author = make.make_author(world.project, kind="gold", name="gold")
    make.make_set(world.notes[0], author, SPANS, submitted=True)
    make.make_set(world.notes[1], author, [], submitted=True)
    world.mapping = make_mapping(world.project)
    return world


made, gold = made_once(make_gold)


@pytest.fixture
def rev(gold, sign_in):
    return sign_in(gold.rev)


@pytest.fixture
def export(tmp_path):
    """A function that exports the gold standard by the command."""
    words = ["covid", str(tmp_path / "out"), "--format", "brat", "--set", "gold"]
    return lambda *more: call_command("export_documents", *words, *more)


def body(world, **fields):
    return {"set": "gold", "format": "brat", "token": uuid.uuid4().hex, "labels": str(world.mapping.pk)} | fields


def add_phone(gold):
    category = make.label_of(gold.project, "AGE").category
    add_label(label_set=gold.project.label_set, category=category, name="Phone", actor=None)


def test_the_preview_counts_spans_by_written_label(gold, rev):
    response = rev.post(PREVIEW, body(gold))
    check_page(response)
    lines = {line.code: line.labels for line in response.context["lines"]}
    names = {"DOCTOR": 1, "PATIENT": 1}
    assert lines == {"NAME": names, "PLACE": {"CITY": 1}, "WHEN": {"DATE": 1}, "": {"AGE": 1}}
    assert response.context["total"] == 4 and not Job.objects.exists()
    # As in the project
    lines = rev.post(PREVIEW, body(gold, labels="")).context["lines"]
    assert [line.code for line in lines] == ["AGE", "CITY", "DATE", "DOCTOR", "PATIENT"]
    # The page sends what was chosen.
    sent = dict(response.context["sent"])
    assert sent["set"] == "gold" and sent["labels"] == str(gold.mapping.pk)


def test_a_job_writes_the_codes_and_reports_them(gold, rev):
    rev.post(START, body(gold))
    job = Job.objects.get(kind="export")
    work(job.pk)
    files = files_of(job)
    lines = [line.split("\t")[1] for line in files["caso-001.ann"].decode().splitlines()]
    assert lines == ["NAME 0 11", "WHEN 31 41", "PLACE 44 50"]
    expected = {"mapping": "Partner", "written": WRITTEN, "left_out": {"AGE": 1}, "merged": 1}
    assert job.result["labels"] == json.loads(files["export.json"])["labels"] == expected
    assert job.result["spans"] == 3 and job.result["loss_count"] == 0
    entities = files["annotation.conf"].decode().partition("[entities]")[2].partition("[")[0].split()
    assert {"NAME", "WHEN", "PLACE"} <= set(entities) and not {"PATIENT", "AGE", "CITY"} & set(entities)
    event = Event.objects.get(verb=NOTES_EXPORTED)
    assert event.data["mapping"] == gold.mapping.pk
    assert (event.data["left_out"], event.data["merged"]) == (1, 1) and "Partner" not in json.dumps(event.data)
    check_page(rev.get(reverse("job", args=["covid", job.number])))
    assert "gold-partner-brat" in StoredFile.objects.get().name


def test_an_export_keeps_the_codes_of_its_start(gold, rev):
    rev.post(START, body(gold))
    MappedLabel.objects.filter(code="NAME").update(code="LATER")
    gold.mapping.delete()
    job = Job.objects.get(kind="export")
    work(job.pk)
    assert b"NAME 0 11" in files_of(job)["caso-001.ann"]


def test_an_unmapped_label_stops_an_export_before_and_after_its_start(gold, rev):
    rev.post(START, body(gold))
    add_phone(gold)
    job = Job.objects.get(kind="export")
    work(job.pk)
    job.refresh_from_db()
    assert job.state == JobState.FAILED and "“Phone”" in job.error and not StoredFile.objects.exists()
    for url in (START, PREVIEW):
        response = rev.post(url, body(gold))
        assert response.url == reverse("label_mapping", args=["covid", gold.mapping.pk])
        assert "“Phone”" in check_page(rev.get(response.url))
    assert Job.objects.count() == 1
    with pytest.raises(ServiceError, match="“Phone”") as refused:
        labels_of_mapping(gold.mapping).by_code(gold.project)
    assert refused.value.code == "unmapped"


def test_a_mapping_that_changed_since_the_preview_is_shown_again(gold, rev):
    seen = rev.post(PREVIEW, body(gold)).context["seen"]
    MappedLabel.objects.filter(code="WHEN").update(code="DAY")
    response = rev.post(START, body(gold, seen=seen), follow=True)
    assert "since the preview" in response.text and not Job.objects.exists()
    assert rev.post(START, body(gold)).url.startswith("/projects/covid/jobs/")


def test_the_preview_is_closed_as_the_export_is(gold, rev, sign_in):
    gold.project.anonymous_adjudication = True
    gold.project.save()
    make.make_set(gold.note, gold.ann, SPANS, submitted=True)
    assert rev.post(PREVIEW, body(gold, set="annotator:ann")).status_code == 403
    assert sign_in(gold.mia).post(PREVIEW, body(gold, set="annotator:ann")).status_code == 200
    html = rev.post(PREVIEW, body(gold, set="nobody"), follow=True).text
    assert "no such annotation sets" in html and "annotator:ann" not in html


def test_frozen_gold_of_a_merged_label_is_written_as_its_target(gold, tmp_path):
    freeze(project=gold.project, actor=gold.rev)
    merge_labels(source=make.label_of(gold.project, "DATE"), target=make.label_of(gold.project, "CITY"), actor=None)
    labels = labels_of_mapping(gold.mapping)
    report = export_to_path(project=gold.project, out=tmp_path / "out", format="brat", set_spec="gold:1", labels=labels)
    assert report["labels"]["written"] == {"NAME": 1, "PLACE": 2}


def test_the_command_takes_a_mapping_and_words_that_win(gold, tmp_path, export):
    def labels():
        return json.loads((tmp_path / "out/export.json").read_text())["labels"]

    MappedLabel.objects.filter(label=make.label_of(gold.project, "CITY")).delete()
    with pytest.raises(CommandError, match="“CITY”"):
        export("--mapping", "Partner")
    words = ["--map-label", "date=DAY", "--skip-label", "City", "--map-label", "AGE=A"]
    export("--mapping", "Partner", *words)
    assert labels() == {
        "mapping": "Partner", "written": {"A": 1, "DAY": 1, "NAME": 1}, "left_out": {"CITY": 1}, "merged": 1
    }  # fmt: skip


def test_wrong_words_are_refused_before_anything_is_written(gold, tmp_path, export):
    for words, message in (
        (["--mapping", "Nobody"], "“Nobody”.*“Partner”"),
        (["--map-label", "DRAGON=X"], "“DRAGON”.*PATIENT, DOCTOR"),
        (["--map-label", "DATE"], "“DATE” can't be written|has no label “”"),
        (["--map-label", "DATE=ein Tag"], "“ein Tag” can't be written for the label “DATE”"),
        (["--map-label", "DATE=A", "--skip-label", "date"], "“date” is named twice"),
        (["--map-label", "DATE=city"], "“CITY” and “city” differ only in case|“city” and “CITY”"),
    ):
        with pytest.raises(CommandError, match=message):
            export(*words)
    assert not (tmp_path / "out").exists()
