"""Calibrate confidence with a run and gold; later runs use the calibration."""

from unittest.mock import patch

import pytest
from django.core.management import CommandError
from django.urls import reverse

from annotations.gold.services.making import freeze
from annotations.gold.services.splitting import split_version
from annotations.jobs.runner import run as work
from annotations.models import AnnotationSet, Event, GoldVersionNote, Job, JobState, Span
from models_runtime.models import Calibration, Run
from models_runtime.runs import jobs
from models_runtime.runs.services import runs
from models_runtime.training.events import CALIBRATED, CALIBRATION_WITHDRAWN
from models_runtime.training.jobs import calibration as calibrating
from tests import factories as make
from tests.worlds.checks import check_page
from tests.worlds.commands import printed, told
from tests.worlds.queue import worked

pytestmark = [
    pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("fake", "no_redis"),
]  # fmt: skip
NOTES = 30


@pytest.fixture
def project():
    """Thirty notes of fifteen patients; the fake marks M and R in each (0.9), gold has the M alone."""
    project = make.make_project("ward")
    for number in range(NOTES):
        note = make.make_note(project, f"Mario Rossi {number}", f"caso-{number:02}", patient_id=f"p{number // 2}")
        make.make_set(note, "gold", [(0, 1, "PATIENT")])
    return project


@pytest.fixture
def version(project):
    return freeze(project=project, actor=None)[0]


@pytest.fixture
def manager(project, client):
    client.force_login(make.make_member(project, "manager", "mia"))
    return client


def ran(project, key="k", **params):
    run = runs.start_run(project=project, backend="fake", actor=None, key=key, params=params)
    work(run.job_id)
    return Run.objects.select_related("calibration", "author").get(pk=run.pk)


def calibrated(run="fake-1", gold=1):
    return told("calibrate", "ward", "--run", run, "--gold", gold)


def raw_spans(run):
    return Span.objects.filter(annotation_set__author=run.author, confidence=0.9, raw_confidence=None).count()


def test_the_command_prints_errors_before_and_after(project, version):
    run = ran(project)
    said = calibrated()
    assert (said["backend"], said["revision"], said["run"], said["gold"]) == ("fake", "1", "fake-1", 1)
    assert (said["notes"], said["spans"], said["left_out"]) == (NOTES, 2 * NOTES, {"test": 0, "learned": 0})
    assert said["ece"]["before"] == pytest.approx(0.4) and said["ece"]["after"] < 0.1
    assert said["gold_hash"] == version.content_hash
    assert [point[0] for point in said["curves"]["PATIENT"]] == [at / 20 for at in range(21)]
    (event,) = Event.objects.filter(verb=CALIBRATED)
    assert event.data == {"backend": "fake", "calibration": said["calibration_id"], "gold": 1} and raw_spans(run) == 60
    assert "ece: before 0.4, " in printed("calibrate", "ward", "--run", "fake-1", "--gold", 1)
    # It works in batches and reports progress.
    told = []
    with patch.object(calibrating, "BATCH", 16):
        calibrating.calibration_by(run, version, progress=lambda done, total: told.append((done, total)))
    assert told == [(16, 30), (30, 30)]


def test_the_next_run_uses_it_and_keeps_the_raw_confidence(project, version, manager):
    assert ran(project).full_revision == "1"
    word = calibrated()["calibration"]
    run = ran(project, "again")
    assert run.full_revision == f"1+{word}"
    span = Span.objects.filter(annotation_set__author=run.author).first()
    assert span.raw_confidence == 0.9 and span.confidence == pytest.approx(0.5, abs=0.05)
    # A calibration with the calibrated run uses the raw confidence, so that it is not applied twice.
    again = calibrated("fake-2")
    assert again["calibration"] == word and again["ece"]["before"] == pytest.approx(0.4)
    # Another revision of the backend doesn't use it.
    other = ran(project, "other", revision="2")
    assert other.calibration is None and raw_spans(other) == 60
    html = check_page(manager.get(reverse("run", args=["ward", other.pk])))
    assert "another revision of this backend" in html and "are not calibrated" in html


def test_a_run_in_progress_keeps_its_calibration(project, version, monkeypatch):
    ran(project)
    run = runs.start_run(project=project, backend="fake", actor=None, key="half", params={"notes": 10})
    predict, done = jobs._predict, []

    def fails_later(*words):
        if done:
            raise RuntimeError("enough")
        done.append(1)
        return predict(*words)

    with monkeypatch.context() as m:
        m.setattr(jobs, "_predict", fails_later)
        work(run.job_id)
    calibrated()
    Job.objects.filter(pk=run.job_id).update(state=JobState.QUEUED)
    worked(run)
    assert run.calibration is None and raw_spans(run) == 60


def test_the_test_split_is_excluded(project, version):
    ran(project)
    split_version(version=version, seed="s", shares={"train": 50, "dev": 40, "test": 10}, actor=None)
    test = GoldVersionNote.objects.filter(version=version, split="test").count()
    said = calibrated()
    assert test > 0 and said["left_out"] == {"test": test, "learned": 0} and said["notes"] == NOTES - test


def test_errors_say_what_is_wrong(project, version):
    def is_refused(run, gold, reason):
        with pytest.raises(CommandError, match=reason):
            calibrated(run, gold)

    run = ran(project)
    make.make_author(project, kind="run", name="brought")
    runs.start_run(project=project, backend="fake", name="waits", actor=None, key="w")
    for name, gold, reason in (
        ("fake-9", "1", "Available: .*run:fake-1"), ("fake-1", "7", "Frozen versions: 1"),
        ("fake-1", "0", "frozen gold version"), ("brought", "1", "is not a run of a backend"),
        ("waits", "1", "has not processed any note yet"),
    ):  # fmt: skip
        is_refused(name, gold, reason)
    AnnotationSet.objects.filter(author=run.author, document__name__gt="caso-10").update(state="draft")
    is_refused("fake-1", "1", r"too few spans with a confidence \(22\)\. A calibration needs at least 50")
    AnnotationSet.objects.filter(author=run.author).update(state="draft")
    is_refused("fake-1", "1", "None of the notes of gold version 1 can be used")
    assert not Calibration.objects.exists()


@pytest.mark.parametrize("made", [
    {"from": "run:fake-1"}, {"from": "run:together-1", "runs": [{"run": "fake-1"}, {"run": "b"}]}
])  # fmt: skip
def test_gold_from_the_same_run_shows_a_warning(project, manager, made):
    """Gold was taken from the run, or from a merged list of this and another run."""
    run = ran(project)
    gold = AnnotationSet.objects.filter(author__kind="gold")
    Span.objects.filter(annotation_set__in=gold[:3]).update(provenance=made)
    freeze(project=project, actor=None)
    said = calibrated()
    assert said["own_gold_spans"] == 3
    html = check_page(manager.get(reverse("calibration", args=["ward", said["calibration_id"]])))
    assert "3 gold spans were adopted from this run" in html and run.author.name in html


def test_from_the_button_to_the_plot_and_withdrawal(project, version, manager):
    run = ran(project)
    page, start = reverse("run", args=["ward", run.pk]), reverse("calibration_start", args=["ward"])
    assert "are not calibrated" in check_page(manager.get(page))
    form = {"author": run.author_id, "gold": 1, "token": "t"}
    job_page = manager.post(start, form).url
    assert manager.post(start, form).url == job_page
    work(Job.objects.get(kind="calibrate").pk)
    made = Calibration.objects.get()
    there = reverse("calibration", args=["ward", made.pk])
    assert there in check_page(manager.get(job_page))
    html = check_page(manager.get(there))
    assert "confidence 0.900, correct 0.500" in html and "plot-calibrated" in html and "0.40" in html
    answer = " ".join(html.partition("folds")[0].split())
    assert "Calibrated confidences are off by" in answer and "raw ones by 0.40" in answer
    assert "plot-calibrated" in answer and "Reliability by" not in answer and "<details open" not in html
    assert "plot-calibrated" in check_page(manager.get(page))
    manager.post(reverse("calibration_withdraw", args=["ward", made.pk]))
    assert "Withdrawn" in check_page(manager.get(there)) and "plot-calibrated" not in check_page(manager.get(page))
    assert ran(project, "after").calibration is None and Event.objects.filter(verb=CALIBRATION_WITHDRAWN).count() == 1
    refused = manager.post(start, form | {"gold": 7, "token": "u"}, follow=True)
    assert "there is no gold version 7" in check_page(refused).lower()
