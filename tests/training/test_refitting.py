"""Refitting: the hold-out chooses the iterations, then the model learns from all notes but test notes."""

import pytest
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from annotations.core.errors import ServiceError
from annotations.domain.gold.splits import Split
from annotations.gold.services.splitting import split_by_lines, split_version
from annotations.jobs.runner import run as work
from annotations.models import GoldVersionNote, Job
from annotations.scores.selectors import learned_notes
from models_runtime.core.stages import learned_from
from models_runtime.models import Run, TrainedModel
from models_runtime.runs.services.runs import start_run

pytestmark = pytest.mark.queue


def client_of(user):
    client = Client()
    client.force_login(user)
    return client


def test_a_refitted_model_learned_from_its_hold_out(world, trained):
    model, job = trained(refit=True, iterations=20)
    card = model.card
    assert (job.state, job.error, job.done) == (Job.State.DONE, "", job.total)
    assert (card["notes"], card["held_out"], card["scores"]["notes"]) == (16, 4, 4)
    assert (card["refit"]["notes"], card["refit"]["spans"]) == (20, 80)
    assert card["refit"]["iterations"] == card["iterations"] == len(card["refit_losses"])
    assert card["refit"]["held_out_sha256"] != card["sha256"] == model.stored_file.sha256
    assert len(learned_from(model)) == 20
    again, _ = trained(key="again", refit=True, iterations=20)
    assert again.card["sha256"] == card["sha256"]
    plain, _ = trained(key="plain", iterations=card["iterations"])
    assert plain.card["sha256"] == card["refit"]["held_out_sha256"], "the scores belong to exactly this model"
    assert len(learned_from(plain)) == 16
    html = client_of(world.manager).get(reverse("model", args=["ward", model.pk])).content.decode()
    assert "These figures are of the model before the refit." in html and "20 notes, 80 spans" in html
    run = start_run(project=world.project, backend=f"model:{model.pk}", actor=world.manager, key="r")
    work(run.job_id)
    author = Run.objects.get(pk=run.pk).author
    assert learned_notes(author, learned_from(model)) == 20


def test_test_notes_stay_out_of_a_refit(world, trained):
    split_version(version=world.version, seed="s", shares={"train": 60, "dev": 20, "test": 20}, actor=world.manager)
    model, _ = trained(refit=True)
    tested = GoldVersionNote.objects.filter(version=world.version, split=Split.TEST)
    assert model.card["refit"]["notes"] == 20 - tested.count()
    assert not learned_from(model).intersection(tested.values_list("document_id", flat=True))


def test_a_new_split_does_not_make_a_model_forget(world, trained):
    model, _ = trained(refit=True, iterations=20)
    split_version(version=world.version, seed="s", shares={"train": 60, "dev": 20, "test": 20}, actor=None)
    assert len(learned_from(TrainedModel.objects.get(pk=model.pk))) == 20, "test notes of today, too"


def test_a_language_model_is_not_refitted(world, trained):
    with pytest.raises(ServiceError, match="can't be refitted"):
        trained(refit=True, backend="characters")


def test_the_form_and_the_command_refit(world):
    data = {"gold": 1, "algorithm": "crf:ap", "refit": "on", "token": "t", "language": "", "base": ""}
    response = client_of(world.manager).post(reverse("model_train", args=["ward"]), data)
    assert response.status_code == 302
    assert TrainedModel.objects.get().params["refit"] is True
    call_command("train_model", "ward", gold=1, algorithm="ap", refit=True)
    assert TrainedModel.objects.filter(params__refit=True).count() == 2


def test_a_ready_made_split_by_name_and_pattern(world):
    lines = "# made elsewhere\ncaso-0*,train\ncaso-1*\tdev\n"
    found = split_by_lines(version=world.version, lines=lines, seed="ready", actor=world.manager)
    assert (found.made, found.notes) == (True, {"train": 10, "dev": 10, "test": 0})
    assert not split_by_lines(version=world.version, lines=lines, seed="ready", actor=world.manager).made
    for wrong, why in (
        ("caso-*,train\ncaso-99,dev", "Line 2: this version has no note “caso-99”"),
        ("caso-*,train\ncaso-01,dev", "Line 2: the note “caso-01” is of the same patient as “caso-00”"),
        ("caso-0*,train", "the first one is “caso-10”"),
        ("caso-*,training", "Line 1: “training” is not a split"),
        ("caso-0*,train\ncaso-*,dev", "Line 2: the note “caso-00” is in train already, by line 1"),
    ):
        with pytest.raises(ServiceError, match=why):
            split_by_lines(version=world.version, lines=wrong, seed="other", actor=world.manager)


def test_a_ready_made_split_on_the_page_and_by_command(world, tmp_path):
    url = reverse("gold_split", args=["ward", 1])
    client = client_of(world.manager)
    wrong = client.post(url, {"lines": "caso-0*,train\ncaso-1*,testing", "seed": "ready-made"})
    html = wrong.content.decode()
    assert wrong.status_code == 422 and "Line 2: “testing” is not a split" in html
    # The lines are still there, in an open form.
    assert "caso-1*,testing" in html and '<details class="field" open><summary>Use a ready-made split' in html
    client.post(url, {"lines": "caso-0*,train\ncaso-1*,test", "seed": "ready-made"})
    world.version.refresh_from_db()
    assert (world.version.split_seed, world.version.split_shares["test"]) == ("ready-made", 50)
    file = tmp_path / "split.csv"
    file.write_text("caso-0*,train\n")
    call_command("split_gold", "ward", 1, lines=file, notes=["caso-1*=dev"], seed="two")
    world.version.refresh_from_db()
    assert world.version.split_shares == {"train": 50, "dev": 50, "test": 0}
