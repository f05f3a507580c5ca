"""Calibrate confidence with a run and gold; later runs use the calibration."""

import io
import json
from unittest.mock import patch

import pytest
from django.core.management import CommandError, call_command
from django.urls import reverse

from annotations.gold.services.making import freeze
from annotations.gold.services.splitting import split_version
from annotations.jobs.runner import run as work
from annotations.models import AnnotationSet, Event, GoldVersionNote, Job, Span
from models_runtime.calibration import jobs as calibrating
from models_runtime.calibration.events import CALIBRATED, CALIBRATION_WITHDRAWN
from models_runtime.core import registry
from models_runtime.models import Calibration, Run
from models_runtime.runs.services import runs
from tests import factories as make
from tests.worlds.checks import check_page

pytestmark = [pytest.mark.queue, pytest.mark.django_db(transaction=True)]
NOTES = 30


@pytest.fixture(autouse=True)
def fake(monkeypatch, no_redis):
    def kind(**params):
        path = "tests.worlds.fake_backend.FakeBackend"
        monkeypatch.setitem(registry.BACKENDS, "fake", registry.BackendKind("Fake", path, "", **params))

    kind()
    return kind


@pytest.fixture
def project():
    """Thirty notes of fifteen patients; the fake marks M and R in each (0.9), gold has the M alone."""
    project = make.make_project("ward")
    gold = make.make_author(project, kind="gold", name="gold")
    for number in range(NOTES):
        note = make.make_note(project, f"Mario Rossi {number}", f"caso-{number:02}", patient_id=f"p{number // 2}")
        make.make_set(note, gold, [(0, 1, "PATIENT")], submitted=True)
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


def answer(*words):
    out = io.StringIO()
    call_command(*words, "--json", stdout=out)
    return json.loads(out.getvalue())


def calibrated(run="fake-1", gold=1):
    return answer("calibrate", "ward", "--run", run, "--gold", str(gold))


def test_the_command_prints_errors_before_and_after(project, version):
    run = ran(project)
    said = calibrated()
    assert (said["backend"], said["revision"], said["run"], said["gold"]) == ("fake", "1", "fake-1", 1)
    assert (said["notes"], said["spans"], said["left_out"]) == (NOTES, 2 * NOTES, {"test": 0, "learned": 0})
    assert said["ece"]["before"] == pytest.approx(0.4)
    assert said["ece"]["after"] < 0.1
    assert said["gold_hash"] == version.content_hash
    assert [point[0] for point in said["curves"]["PATIENT"]] == [at / 20 for at in range(21)]
    (event,) = Event.objects.filter(verb=CALIBRATED)
    assert event.data == {"backend": "fake", "calibration": said["calibration_id"], "gold": 1}
    assert Span.objects.filter(annotation_set__author=run.author, confidence=0.9, raw_confidence=None).count() == 60
    out = io.StringIO()
    call_command("calibrate", "ward", "--run", "fake-1", "--gold", "1", stdout=out)
    assert "Calibration error (ECE): 0.4000 raw" in out.getvalue()


def test_the_next_run_uses_it_and_keeps_the_raw_confidence(project, version):
    assert ran(project).full_revision == "1"
    word = calibrated()["calibration"]
    run = ran(project, "again")
    assert run.full_revision == f"1+{word}"
    span = Span.objects.filter(annotation_set__author=run.author).first()
    assert span.raw_confidence == 0.9
    assert span.confidence == pytest.approx(0.5, abs=0.05)
    # A calibration with the calibrated run uses the raw confidence, so that it is not applied twice.
    again = calibrated("fake-2")
    assert again["calibration"] == word and again["ece"]["before"] == pytest.approx(0.4)


def test_another_revision_of_the_backend_does_not_use_it(project, version, manager):
    ran(project)
    calibrated()
    other = ran(project, "other", revision="2")
    assert other.calibration is None
    assert Span.objects.filter(annotation_set__author=other.author, raw_confidence=None).count() == 60
    html = check_page(manager.get(reverse("run", args=["ward", other.pk])))
    assert "another revision of this backend" in html and "are not calibrated" in html


def test_a_run_in_progress_keeps_its_calibration(project, version, monkeypatch):
    ran(project)
    run = runs.start_run(project=project, backend="fake", actor=None, key="half", params={"notes": 10})
    with monkeypatch.context() as m:
        m.setattr("models_runtime.runs.jobs.running._predict", stops_after(1))
        work(run.job_id)
    calibrated()
    Job.objects.filter(pk=run.job_id).update(state=Job.State.QUEUED)
    work(run.job_id)
    run.refresh_from_db()
    assert run.calibration is None
    assert Span.objects.filter(annotation_set__author=run.author, confidence=0.9).count() == 60


def stops_after(batches):
    """A `_predict` that fails the job after a number of batches."""
    from models_runtime.runs.jobs.running import _predict

    left = [batches]

    def predict(backend, items, claim):
        if not left[0]:
            raise RuntimeError("enough")
        left[0] -= 1
        return _predict(backend, items, claim)

    return predict


def test_the_test_split_is_excluded(project, version):
    ran(project)
    split_version(version=version, seed="s", shares={"train": 50, "dev": 40, "test": 10}, actor=None)
    test = GoldVersionNote.objects.filter(version=version, split="test").count()
    said = calibrated()
    assert test > 0 and said["left_out"] == {"test": test, "learned": 0}
    assert said["notes"] == NOTES - test


def test_it_works_in_batches_and_reports_progress(project, version):
    run, told = ran(project), []
    with patch.object(calibrating, "BATCH", 8):
        made = calibrating.calibration_by(run, version, progress=lambda done, total: told.append((done, total)))
    assert told == [(8, 30), (16, 30), (24, 30), (30, 30)]
    assert made.notes == NOTES


def test_errors_say_what_is_wrong(project, version):
    ran(project)
    make.make_author(project, kind="run", name="brought")
    runs.start_run(project=project, backend="fake", name="waits", actor=None, key="w")
    for run, gold, reason in (
        ("fake-9", "1", "Available: .*run:fake-1"),
        ("fake-1", "7", "Frozen versions: 1"),
        ("fake-1", "0", "frozen gold version"),
        ("brought", "1", "is not a run of a backend"),
        ("waits", "1", "has not processed any note yet"),
    ):
        with pytest.raises(CommandError, match=reason):
            call_command("calibrate", "ward", "--run", run, "--gold", gold)
    assert not Calibration.objects.exists()


def test_too_few_spans(project, version):
    run = ran(project)
    AnnotationSet.objects.filter(author=run.author, document__name__gt="caso-10").update(state="draft")
    with pytest.raises(CommandError, match=r"too few spans with a confidence \(22\)\. A calibration needs at least 50"):
        call_command("calibrate", "ward", "--run", "fake-1", "--gold", "1")
    AnnotationSet.objects.filter(author=run.author).update(state="draft")
    with pytest.raises(CommandError, match="None of the notes of gold version 1 can be used"):
        call_command("calibrate", "ward", "--run", "fake-1", "--gold", "1")


@pytest.mark.parametrize(
    "made", [{"from": "run:fake-1"}, {"from": "run:together-1", "runs": [{"run": "fake-1"}, {"run": "b"}]}]
)
def test_gold_from_the_same_run_shows_a_warning(project, manager, made):
    """Gold was taken from the run, or from a merged list of this and another run."""
    run = ran(project)
    gold = AnnotationSet.objects.filter(author__kind="gold")
    Span.objects.filter(annotation_set__in=gold[:3]).update(provenance=made)
    freeze(project=project, actor=None)
    said = calibrated()
    assert said["own_gold_spans"] == 3
    html = check_page(manager.get(reverse("calibration", args=["ward", said["calibration_id"]])))
    assert "3 gold spans were adopted from this run" in html
    assert run.author.name in html


def test_from_the_button_to_the_plot_and_withdrawal(project, version, manager):
    run = ran(project)
    page = reverse("run", args=["ward", run.pk])
    assert "are not calibrated" in check_page(manager.get(page))
    form = {"author": run.author_id, "gold": 1, "token": "t"}
    job_page = manager.post(reverse("calibration_start", args=["ward"]), form).url
    assert manager.post(reverse("calibration_start", args=["ward"]), form).url == job_page
    work(Job.objects.get(kind="calibrate").pk)
    made = Calibration.objects.get()
    there = reverse("calibration", args=["ward", made.pk])
    assert there in check_page(manager.get(job_page))
    html = check_page(manager.get(there))
    assert "confidence 0.900, correct 0.500" in html and "plot-calibrated" in html and "0.4000" in html
    assert "plot-calibrated" in check_page(manager.get(page))
    manager.post(reverse("calibration_withdraw", args=["ward", made.pk]))
    assert "Withdrawn" in check_page(manager.get(there))
    assert "plot-calibrated" not in check_page(manager.get(page))
    assert ran(project, "after").calibration is None
    assert Event.objects.filter(verb=CALIBRATION_WITHDRAWN).count() == 1


def test_a_calibration_is_withdrawn_by_command(project, version):
    def withdraw(*words):
        out = io.StringIO()
        call_command("withdraw_calibration", "ward", *words, "--json", stdout=out)
        return json.loads(out.getvalue())

    ran(project)
    name = calibrated()["calibration"]
    mia = make.make_member(project, "manager", "mia")
    make.make_member(project, "reviewer", "rev")
    with pytest.raises(CommandError, match=f"There is no calibration “cal-none”. Calibrations: {name}."):
        withdraw("cal-none")
    with pytest.raises(CommandError, match="doesn't have permission to manage"):
        withdraw(name, "--by", "rev")
    assert withdraw(name, "--by", "mia") == {"calibration": name, "backend": "fake", "withdrawn": True}
    assert Calibration.objects.get().withdrawn_at is not None
    assert Event.objects.get(verb=CALIBRATION_WITHDRAWN).actor == mia


def test_without_gold_the_page_explains_what_to_do(project, manager):
    run = ran(project)
    assert "No gold version with spans yet" in check_page(manager.get(reverse("run", args=["ward", run.pk])))
    answer_ = manager.post(
        reverse("calibration_start", args=["ward"]), {"author": run.author_id, "gold": 1}, follow=True
    )
    assert "there is no gold version 1" in check_page(answer_).lower()
