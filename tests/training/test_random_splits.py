"""Several trainings at once, each with a random hold-out of its own: members of an ensemble that differ."""

import io
import json

import pytest
from django.core.management import call_command

from annotations.core.services import ServiceError
from annotations.gold.rules import Split
from annotations.gold.services.splitting import split_version
from annotations.jobs.runner import run as work
from annotations.models import Document, GoldVersionNote, Job, JobState
from annotations.ops.services.erasing import erase_patient
from annotations.scores.selectors import learned_notes
from models_runtime.core.gold_sources import training_notes
from models_runtime.core.stages import learned_from
from models_runtime.models import Run, TrainedModel
from models_runtime.runs.services.ensembles import MemberChoice, start_ensemble
from models_runtime.training.jobs.calibration import calibration_by
from models_runtime.training.services.groups import start_group
from models_runtime.training.services.model_cards import erased_since
from tests.training.conftest import page, run_of
from tests.worlds.checks import check_page

pytestmark = pytest.mark.queue


def split(world, seed="s", dev=20, test=20):
    split_version(version=world.version, seed=seed, shares={"train": 60, "dev": dev, "test": test}, actor=None)
    world.version.refresh_from_db()


def started(world, key, **options):
    """Trainings that have not begun."""
    options = {"algorithm": "ap", "iterations": 8, "random_splits": True, **options}
    return start_group(project=world.project, gold=1, actor=world.manager, key=key, **options)


def learned(rows):
    for row in rows:
        work(row.job_id)
        row.refresh_from_db()
    return rows


@pytest.fixture
def members(world):
    """Split the version into train, dev and test notes, and train two CRFs with random hold-outs."""
    split(world)
    return learned(started(world, "k", name="one", runs=2))


def of_split(split=None):
    rows = GoldVersionNote.objects.all()
    return set((rows.filter(split=split) if split else rows).values_list("document_id", flat=True))


def test_a_random_hold_out_is_drawn_by_patient_from_train_and_dev(world):
    split(world)
    tested, dev = of_split(Split.TEST), of_split(Split.DEV)
    found = [training_notes(world.version, {"random_split": seed}) for seed in range(8)]
    patients = dict(Document.objects.values_list("pk", "patient_id"))
    for notes in found:
        train, hold_out = set(notes.train), set(notes.hold_out)
        assert train | hold_out == of_split() - tested and not train & hold_out
        assert not {patients[pk] for pk in train} & {patients[pk] for pk in hold_out}
        assert not notes.of_version
    assert len({tuple(notes.hold_out) for notes in found}) > 1
    assert any(dev & set(notes.train) for notes in found), "dev notes are learned from, too"
    assert found[3] == training_notes(world.version, {"random_split": 3})


def test_each_member_was_scored_and_calibrated_on_the_notes_that_it_has_not_learned_from(world, members, monkeypatch):
    everything = of_split() - of_split(Split.TEST)
    one, two = members
    assert (one.params["random_split"], two.params["random_split"]) == (7, 8)
    assert one.card["held_out_notes"] != two.card["held_out_notes"] and one.card["sha256"] != two.card["sha256"]
    for row in members:
        held_out = set(row.card["held_out_notes"])
        assert learned_from(row) == everything - held_out
        assert (row.card["notes"] + row.card["held_out"], row.card["scores"]["notes"]) == (16, len(held_out))
        assert (row.card["seed"], row.card["split_of_version"]) == (str(row.params["random_split"]), False)
    held_out = set(one.card.pop("held_out_notes"))
    assert learned_from(one) == everything - held_out, "the parameters say it, too"

    monkeypatch.setattr("models_runtime.training.rules.curves.LEAST", 1)
    pk = run_of(world.project, f"model:{two.pk}").pk
    run = Run.objects.select_related("author", "project", "model__gold_version").get(pk=pk)
    assert learned_notes(run.author, everything) == two.card["notes"]
    made = calibration_by(run, world.version)
    assert (made.notes, made.left_out["learned"]) == (two.card["held_out"], two.card["notes"])

    both = [MemberChoice(f"model:{row.pk}") for row in members]
    ensemble = start_ensemble(project=world.project, members=both, method="union", actor=None, key="e")
    work(ensemble.job_id)
    assert learned_notes(ensemble.author, of_split()) == len(learned_from(one) | learned_from(two))

    # A model that has not learned from a hold-out may begin a training with the same one alone.
    with pytest.raises(ServiceError, match=r"learned from \d+ notes that this training must not see"):
        started(world, "a", runs=2, base=one.name)
    assert started(world, "b", base=one.name)[0].params["random_split"] == 7

    assert not erased_since(two)
    patient = Document.objects.get(pk=two.card["held_out_notes"][0]).patient_id
    erase_patient(project=world.project, patient_id=patient, actor=world.manager)
    assert erased_since(TrainedModel.objects.get(pk=two.pk)) and erased_since(TrainedModel.objects.get(pk=one.pk))


def test_the_hold_out_is_checked_again_when_the_training_begins(world):
    """A new split after the start changes what the training holds out."""
    split(world, dev=40, test=0)
    learned(started(world, "a", name="base", iterations=2, random_splits=False))
    (later,) = started(world, "b", base="base", random_splits=False)
    split(world, "other", dev=40, test=0)
    work(later.job_id)
    job = Job.objects.get(pk=later.job_id)
    assert job.state == JobState.FAILED and "notes that this training must not see" in job.error


def test_the_command_trains_members_with_random_hold_outs(world):
    def command(*words):
        out = io.StringIO()
        given = ["--gold", "1", "--algorithm", "ap", "--iterations", "3", "--random-splits", "--wait"]
        call_command("train_model", "ward", *given, *words, stdout=out)
        return out.getvalue()

    found = json.loads(command("--runs", "2", "--json"))
    assert [each["random_split"] for each in found["models"]] == [7, 8]
    assert set(found["f1"]) >= {"entity subcategory"} and found["random_splits"]
    printed = command("--runs", "2", "--name", "it")
    assert "Model it-1" in printed and "Model it-2" in printed
    assert "Notes held out at random with seed 7: 4." in printed
    assert "mean ± standard deviation" in printed and "entity subcategory" in printed


def test_the_form_and_the_pages_of_the_members(manager):
    data = {"gold": 1, "algorithm": "crf:ap", "iterations": 5, "runs": 2, "random_splits": "on", "token": "t"}
    assert manager.post(page("model_train"), data).status_code == 302
    _, two = learned(TrainedModel.objects.order_by("pk"))
    html = check_page(manager.get(page("model", two.pk)))
    assert "4 notes (20%), drawn at random by patient for this training, seed 8" in html
    assert "2 trainings with different hold-outs" in html
    again = manager.post(page("model_train"), data | {"random_splits": "", "token": "u"})
    assert again.status_code == 422 and "Choose random hold-outs, or one of" in again.content.decode()
    assert Job.objects.count() == 2
