"""Exports with other labels: preview, job, command, formats, and mappings that lack labels or were changed."""

import io
import json
import uuid
import zipfile

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotations.core.errors import ServiceError
from annotations.core.progress import silent
from annotations.domain.formats import FORMATS
from annotations.domain.formats.base import LabelFinder, Loaded
from annotations.domain.notes import NoteError
from annotations.gold.services.making import freeze
from annotations.jobs.runner import run as work
from annotations.models import Event, Job, MappedLabel, Span, StoredFile
from annotations.projects.services.labels import add_label, merge_labels
from annotations.transfer.events import NOTES_EXPORTED
from annotations.transfer.services.export_labels import labels_in_words, labels_of_mapping
from annotations.transfer.services.exporting import export_to_path, run_export
from tests import factories as make
from tests.held import fresh
from tests.transfer.mapped import CODES, SPANS, make_mapping
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


@pytest.fixture(scope="module")
def made_world(once):
    return once(make_gold)


@pytest.fixture
def gold(made_world, db):
    return fresh(made_world, make_gold)


def body(world, **fields):
    return {"set": "gold", "format": "brat", "token": uuid.uuid4().hex, "labels": str(world.mapping.pk)} | fields


def files_of(job):
    job.refresh_from_db()
    data = b"".join(bytes(chunk.data) for chunk in StoredFile.objects.get(pk=job.result["file_id"]).chunks.all())
    archive = zipfile.ZipFile(io.BytesIO(data))
    return {name: archive.read(name).decode("utf-8-sig") for name in archive.namelist()}


def test_the_page_offers_the_mappings(gold, sign_in):
    client = sign_in(gold.rev)
    html = check_page(client.get(reverse("export", args=["covid"])))
    assert f'<option value="{gold.mapping.pk}">Partner</option>' in html and "As in the project" in html
    assert reverse("label_mappings", args=["covid"]) in html
    html = client.get(reverse("export", args=["covid"]) + f"?labels={gold.mapping.pk}").content.decode()
    assert f'<option value="{gold.mapping.pk}" selected>' in html
    check_page(client.get(reverse("export", args=["covid"]) + "?labels=x"))


def test_the_preview_counts_spans_by_written_label(gold, sign_in):
    client = sign_in(gold.rev)
    response = client.post(PREVIEW, body(gold))
    check_page(response)
    assert [(line.code, line.labels) for line in response.context["lines"]] == [
        ("NAME", [("DOCTOR", 1), ("PATIENT", 1)]),
        ("PLACE", [("CITY", 1)]),
        ("WHEN", [("DATE", 1)]),
        ("", [("AGE", 1)]),
    ]
    assert response.context["total"] == 4
    assert not Job.objects.exists()
    # As in the project
    lines = client.post(PREVIEW, body(gold, labels="")).context["lines"]
    assert [line.code for line in lines] == ["AGE", "CITY", "DATE", "DOCTOR", "PATIENT"]
    # The page sends what was chosen.
    sent = dict(response.context["sent"])
    assert sent["set"] == "gold" and sent["labels"] == str(gold.mapping.pk)


def test_a_job_writes_the_codes_and_reports_them(gold, sign_in):
    client = sign_in(gold.rev)
    client.post(START, body(gold))
    job = Job.objects.get(kind="export")
    work(job.pk)
    files = files_of(job)
    assert [line.split("\t")[1] for line in files["caso-001.ann"].splitlines()] == [
        "NAME 0 11", "WHEN 31 41", "PLACE 44 50",
    ]  # fmt: skip
    expected = {"mapping": "Partner", "written": WRITTEN, "left_out": {"AGE": 1}, "merged": 1}
    assert job.result["labels"] == json.loads(files["export.json"])["labels"] == expected
    assert job.result["spans"] == 3 and job.result["loss_count"] == 0
    entities = files["annotation.conf"].partition("[entities]")[2].partition("[")[0].split()
    assert {"NAME", "WHEN", "PLACE"} <= set(entities) and not {"PATIENT", "AGE", "CITY"} & set(entities)
    event = Event.objects.get(verb=NOTES_EXPORTED)
    assert event.data["mapping"] == gold.mapping.pk
    assert (event.data["left_out"], event.data["merged"]) == (1, 1) and "Partner" not in json.dumps(event.data)
    check_page(client.get(reverse("job", args=["covid", job.number])))
    assert "gold-partner-brat" in StoredFile.objects.get().name


def test_an_export_keeps_the_codes_of_its_start(gold, sign_in):
    sign_in(gold.rev).post(START, body(gold))
    MappedLabel.objects.filter(code="NAME").update(code="LATER")
    gold.mapping.delete()
    job = Job.objects.get(kind="export")
    work(job.pk)
    assert "NAME 0 11" in files_of(job)["caso-001.ann"]


def test_an_unmapped_label_is_named_and_leads_to_the_page(gold, sign_in):
    category = make.label_of(gold.project, "AGE").category
    add_label(label_set=gold.project.label_set, category=category, name="Phone", actor=None)
    client = sign_in(gold.rev)
    for url in (START, PREVIEW):
        response = client.post(url, body(gold))
        assert response.url == reverse("label_mapping", args=["covid", gold.mapping.pk])
        html = check_page(client.get(response.url))
        assert "lacks these labels: “Phone”. Nothing was exported." in html
    assert not Job.objects.exists()


def test_a_label_that_is_added_before_the_job_runs_stops_it(gold, sign_in):
    sign_in(gold.rev).post(START, body(gold))
    category = make.label_of(gold.project, "AGE").category
    add_label(label_set=gold.project.label_set, category=category, name="Phone", actor=None)
    job = Job.objects.get(kind="export")
    work(job.pk)
    job.refresh_from_db()
    assert job.state == Job.State.FAILED and "“Phone”" in job.error and not StoredFile.objects.exists()


def test_a_mapping_that_changed_since_the_preview_is_shown_again(gold, sign_in):
    client = sign_in(gold.rev)
    seen = client.post(PREVIEW, body(gold)).context["seen"]
    MappedLabel.objects.filter(code="WHEN").update(code="DAY")
    response = client.post(START, body(gold, seen=seen), follow=True)
    assert "since the preview" in response.content.decode() and not Job.objects.exists()
    assert client.post(START, body(gold)).url.startswith("/projects/covid/jobs/")


def test_mappings_that_dont_exist_or_are_of_another_project(gold, sign_in):
    client = sign_in(gold.rev)
    for pk in (make_mapping(gold.other).pk, "0", "x", "²", "1" * 30):
        for url in (START, PREVIEW):
            assert client.post(url, body(gold, labels=pk)).url == reverse("export", args=["covid"])
    assert not Job.objects.exists()


def test_the_preview_is_closed_as_the_export_is(gold, sign_in):
    gold.project.anonymous_adjudication = True
    gold.project.save()
    make.make_set(gold.note, gold.ann, SPANS, submitted=True)
    assert sign_in(gold.rev).post(PREVIEW, body(gold, set="annotator:ann")).status_code == 403
    assert sign_in(gold.mia).post(PREVIEW, body(gold, set="annotator:ann")).status_code == 200
    html = sign_in(gold.rev).post(PREVIEW, body(gold, set="nobody"), follow=True).content.decode()
    assert "no such annotation sets" in html and "annotator:ann" not in html


def test_frozen_gold_of_a_merged_label_is_written_as_its_target(gold, tmp_path):
    freeze(project=gold.project, actor=gold.rev)
    merge_labels(source=make.label_of(gold.project, "DATE"), target=make.label_of(gold.project, "CITY"), actor=None)
    report = export_to_path(
        project=gold.project, out=tmp_path / "out", format="brat", set_spec="gold:1",
        labels=labels_of_mapping(gold.mapping),
    )  # fmt: skip
    assert report["labels"]["written"] == {"NAME": 1, "PLACE": 2}


@pytest.mark.parametrize("format", [name for name in FORMATS if name != "text"])
def test_every_format_writes_and_reads_the_codes(gold, tmp_path, format):
    report = export_to_path(
        project=gold.project, out=tmp_path / "out", format=format, set_spec="gold",
        labels=labels_of_mapping(gold.mapping),
    )  # fmt: skip
    assert report["labels"]["written"] == WRITTEN
    files = {
        str(path.relative_to(tmp_path / "out")): path.read_bytes()
        for path in (tmp_path / "out").rglob("*") if path.is_file()
    }  # fmt: skip
    groups, _strays = FORMATS[format].group(files)
    accepted = {code: code for code in WRITTEN}
    notes = [note for group in groups for note in FORMATS[format].read_many(group, Loaded(files.__getitem__), accepted)]
    assert not [note for note in notes if isinstance(note, NoteError)]
    spans = {(span.start, span.end, span.label) for note in notes for span in note.spans or ()}
    assert spans == {(0, 11, "NAME"), (31, 41, "WHEN"), (44, 50, "PLACE")}
    assert LabelFinder(accepted)("name") == "NAME"


def test_the_command_takes_a_mapping_and_words_that_win(gold, tmp_path, capsys):
    words = ["covid", str(tmp_path / "out"), "--format", "brat", "--set", "gold", "--mapping", "Partner"]
    call_command("export_documents", *words, "--map-label", "date=DAY", "--skip-label", "City", "--map-label", "AGE=A")
    out = capsys.readouterr().out
    assert "Labels written as in the mapping “Partner”: A 1, DAY 1, NAME 1." in out
    assert "Spans left out by label: CITY 1." in out
    assert "Spans merged with an equal span of another label: 1." in out


def test_words_alone_keep_the_other_labels(gold, tmp_path, capsys):
    words = ["covid", str(tmp_path / "out"), "--format", "brat", "--set", "gold"]
    call_command("export_documents", *words, "--map-label", "DATE=DAY", "--skip-label", "AGE")
    assert "Labels written: CITY 1, DAY 1, DOCTOR 1, PATIENT 1." in capsys.readouterr().out
    call_command("export_documents", "covid", str(tmp_path / "two"), *words[2:])
    assert "Labels written" not in capsys.readouterr().out
    assert json.loads((tmp_path / "two/export.json").read_text())["labels"] is None


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--mapping", "Nobody"], "There is no label mapping “Nobody”. Label mappings of this project: “Partner”."),
        (["--map-label", "DRAGON=X"], "The project has no label “DRAGON”. Choose one of: PATIENT, DOCTOR"),
        (["--map-label", "DATE"], "“DATE” can't be written|has no label “”"),
        (["--map-label", "DATE=ein Tag"], "“ein Tag” can't be written for the label “DATE”."),
        (["--map-label", "DATE=A", "--skip-label", "date"], "The label “date” is named twice."),
        (["--map-label", "DATE=city"], "“CITY” and “city” differ only in case|“city” and “CITY”"),
    ],
)
def test_wrong_words_are_refused_before_anything_is_written(gold, tmp_path, words, message):
    with pytest.raises(CommandError, match=message):
        call_command("export_documents", "covid", str(tmp_path / "out"), "--format", "brat", "--set", "gold", *words)
    assert not (tmp_path / "out").exists()


def test_an_incomplete_mapping_is_refused_by_the_command(gold, tmp_path):
    MappedLabel.objects.filter(label=make.label_of(gold.project, "CITY")).delete()
    words = ["covid", str(tmp_path / "out"), "--format", "brat", "--set", "gold", "--mapping", "Partner"]
    with pytest.raises(CommandError, match="lacks these labels: “CITY”"):
        call_command("export_documents", *words)
    call_command("export_documents", *words, "--map-label", "CITY=TOWN")
    assert "TOWN 44 50" in (tmp_path / "out/caso-001.ann").read_text()


def test_labels_survive_the_parameters_of_a_job(gold):
    labels = labels_of_mapping(gold.mapping)
    assert type(labels).from_params(json.loads(json.dumps(labels.as_params()))) == labels
    assert labels.by_code(gold.project) == CODES
    assert not labels_in_words(gold.project).differ


def test_an_old_job_without_labels_still_runs(gold):
    report = run_export(project_id=gold.project.pk, set_spec="gold", format="brat", actor_id=None, progress=silent)
    assert (
        report["labels"] is None and report["spans"] == Span.objects.filter(annotation_set__author__kind="gold").count()
    )


def test_a_job_reports_an_unmapped_label_of_a_service_call(gold):
    MappedLabel.objects.filter(code="").delete()
    with pytest.raises(ServiceError, match="“AGE”") as refused:
        labels_of_mapping(gold.mapping).by_code(gold.project)
    assert refused.value.code == "unmapped"
