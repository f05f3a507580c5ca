"""Refitting: the hold-out chooses the iterations, then the model learns from all notes but test notes. How it ends."""

import json
import os
import signal
import sys
from itertools import cycle
from types import SimpleNamespace

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command

from annotations.core.hooks import models_of
from annotations.core.services import ServiceError
from annotations.gold.rules import Split
from annotations.gold.services.splitting import split_by_lines, split_version
from annotations.jobs.runner import run as work
from annotations.models import GoldVersionNote, Job, JobState, StoredFile
from annotations.scores.selectors import learned_notes
from models_runtime.backends import children
from models_runtime.core.stages import learned_from
from models_runtime.models import Calibration, TrainedModel, TrainedModelState
from models_runtime.refining.services.refining import start_refinement
from models_runtime.runs.services.ensembles import MemberChoice, review_together, start_ensemble
from models_runtime.training.jobs import training
from models_runtime.training.jobs.kept_models import checkpoint_of
from models_runtime.training.services.training import start_training
from tests import factories as make
from tests.training.conftest import at_step, content_of, page, resumed, run_of
from tests.worlds.commands import printed, told
from tests.worlds.killing import Killed
from tests.worlds.programs import Program

SHARES = {"train": 60, "dev": 20, "test": 20}


def test_a_refitted_model_learned_from_its_hold_out(world, trained, manager):
    model, job = trained(refit=True, iterations=10)
    card = model.card
    assert (job.state, job.error, job.done) == (JobState.DONE, "", job.total)
    assert (card["notes"], card["held_out"], card["scores"]["notes"]) == (16, 4, 4)
    assert (card["refit"]["notes"], card["refit"]["spans"]) == (20, 80)
    assert card["refit"]["iterations"] == len(card["refit_losses"]) <= card["iterations"] == 10
    assert len(model.losses) == len(card["hold_out_masking"]) == 10, "no iteration is run twice"
    assert card["refit"]["held_out_sha256"] != card["sha256"] == model.stored_file.sha256
    assert len(learned_from(model)) == 20
    again, _ = trained(key="again", refit=True, iterations=10)
    assert again.card["sha256"] == card["sha256"]
    plain, _ = trained(key="plain", iterations=card["iterations"])
    assert plain.card["sha256"] == card["refit"]["held_out_sha256"], "the scores belong to exactly this model"
    assert len(learned_from(plain)) == 16
    html = manager.get(page("model", model.pk)).content.decode()
    assert 'aria-labelledby="masking-title"' in html
    assert "These figures are of the model before the refit." in html and "20 notes, 80 spans" in html
    assert learned_notes(run_of(world.project, f"model:{model.pk}").author, learned_from(model)) == 20
    split_version(version=world.version, seed="s", shares=SHARES, actor=None)
    assert len(learned_from(TrainedModel.objects.get(pk=model.pk))) == 20, "test notes of today, too"


def test_test_notes_stay_out_of_a_refit(world, trained):
    split_version(version=world.version, seed="s", shares=SHARES, actor=world.manager)
    model, _ = trained(refit=True)
    tested = GoldVersionNote.objects.filter(version=world.version, split=Split.TEST)
    assert model.card["refit"]["notes"] == 20 - tested.count()
    assert not learned_from(model).intersection(tested.values_list("document_id", flat=True))


def test_a_ready_made_split_by_name_and_pattern(world, manager, tmp_path):
    def split(lines, seed="ready"):
        return split_by_lines(version=world.version, lines=lines, seed=seed, actor=world.manager)

    lines = "# made elsewhere\ncaso-0*,train\ncaso-1*\tdev\n"
    found = split(lines)
    assert (found.made, found.notes) == (True, {"train": 10, "dev": 10, "test": 0}) and not split(lines).made
    for wrong, why in (
        ("caso-*,train\ncaso-99,dev", "Line 2: this version has no note “caso-99”"),
        ("caso-*,train\ncaso-01,dev", "Line 2: the note “caso-01” is of the same patient as “caso-00”"),
        ("caso-0*,train", "the first one is “caso-10”"),
        ("caso-*,training", "Line 1: “training” is not a split"),
        ("caso-0*,train\ncaso-*,dev", "Line 2: the note “caso-00” is in train already, by line 1"),
    ):
        with pytest.raises(ServiceError, match=why):
            split(wrong, "other")
    bad = manager.post(page("gold_split", 1), {"lines": "caso-0*,train\ncaso-1*,testing", "seed": "ready-made"})
    assert bad.status_code == 422 and "caso-1*,testing" in bad.content.decode(), "the lines are still there"
    manager.post(page("gold_split", 1), {"lines": "caso-0*,train\ncaso-1*,test", "seed": "ready-made"})
    assert (make.reread(world.version).split_seed, world.version.split_shares["test"]) == ("ready-made", 50)
    file = tmp_path / "split.csv"
    file.write_text("caso-0*,train\n")
    call_command("split_gold", "ward", 1, lines=file, notes=["caso-1*=dev"], seed="two")
    world.version.refresh_from_db()
    assert (world.version.split_seed, world.version.split_shares) == ("two", {"train": 50, "dev": 50, "test": 0})


State = TrainedModelState
# What differs between two trainings that give the same model.
OWN = {"date", "seconds", "memory"}
NETWORK = {"backend": "transformer", "algorithm": "fresh", "base": "tiny-bert", "iterations": 3, "refit": True}
# F1 on the held-out notes after each epoch: the second one is the best.
FIGURES = [0.2, 0.9, 0.5]
BEST = 2


@pytest.fixture
def here(monkeypatch):
    """Trainings run in this process, by the code of the child process, because its libraries load slowly."""

    def train(module, notes, path, *, options, unlabeled, on_step, held_out=(), self_labeled=()):
        def say(message):
            if on_step(message):
                os.kill(os.getpid(), signal.SIGUSR1)

        parts = (map(children._line, notes), unlabeled, map(children._line, held_out), self_labeled)
        sent = [options, *(value for part in parts for value in (*part, None))]
        lines = [json.dumps(value).encode() for value in sent]
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=lines))
        return children._learned(module, path, say)

    earlier = signal.getsignal(signal.SIGUSR1)
    monkeypatch.setattr(children, "train", train)
    yield
    signal.signal(signal.SIGUSR1, earlier)


@pytest.fixture
def network(here, home, monkeypatch):
    """The options of a training of a transformer, whose epochs have the F1 of FIGURES."""
    from models_runtime.backends.token_classification.training import HeldOut

    figures = cycle(FIGURES)
    monkeypatch.setattr(HeldOut, "figures", lambda self: {"f1": next(figures) if list(self.notes) else None})
    return NETWORK


def card_of(model):
    return {key: value for key, value in model.card.items() if key not in OWN}


def page_of(client, model):
    return client.get(page("model", model.pk)).content.decode()


def killed_in_refit(world, monkeypatch, step, **options):
    """Start a training whose worker is killed at this iteration of the refit."""

    def kill():
        raise Killed

    with monkeypatch.context() as patch:
        at_step(patch, step, kill, refit=True)
        model = start_training(project=world.project, gold=1, actor=None, key="killed", **options)
        with pytest.raises(Killed):
            work(model.job_id)
    return make.reread(model)


def ended_well(model):
    """Let another worker continue, and check how it ends."""
    model, job = resumed(model), Job.objects.get(pk=model.job_id)
    assert (job.state, job.error, job.attempt, job.done) == (JobState.DONE, "", 2, job.total)
    return model


def check_nothing_is_kept(model):
    assert model.stored_file is None and not StoredFile.objects.exists() and not Calibration.objects.exists()
    assert "refit" not in model.card and "sha256" not in model.card


def test_a_refit_whose_worker_is_killed_gives_the_same_model(world, trained, manager, monkeypatch):
    model = killed_in_refit(world, monkeypatch, 3, iterations=8, refit=True)
    check_nothing_is_kept(model)
    assert model.state == State.TRAINING and len(model.card["refit_losses"]) == 2
    html = page_of(manager, model)
    assert f"Refit on all notes: 2 of {model.card['refit_most']} iterations" in html
    assert "Refit with" not in html and 'id="model-enough"' not in html
    whole, _ = trained(key="whole", refit=True)
    assert card_of(ended_well(model)) == card_of(whole) and "Refit with" in page_of(manager, model)


def test_a_network_is_refitted_for_the_epochs_that_the_hold_out_chose(world, trained, manager, monkeypatch, network):
    score, scored = training.hold_out_scores, []

    def spied(backend, *words, **options):
        scored.append(backend.revision)
        return score(backend, *words, **options)

    monkeypatch.setattr(training, "hold_out_scores", spied)
    whole, job = trained(**network)
    assert (job.state, job.error, job.done) == (JobState.DONE, "", job.total)
    card, refit = whole.card, whole.card["refit"]
    assert whole.hold_out == FIGURES
    assert card["iterations"] == card["refit_most"] == refit["iterations"] == len(card["refit_losses"]) == BEST
    # The figures are those of the held-out model after that epoch, of which only the hash is kept.
    (revision,) = scored
    assert refit["held_out_sha256"][:12] in revision
    assert refit["held_out_sha256"] != card["sha256"] == whole.stored_file.sha256
    assert (card["notes"], card["scores"]["notes"], refit["notes"]) == (16, 4, 20)
    assert "The best epoch was kept" in page_of(manager, whole)

    model = killed_in_refit(world, monkeypatch, 2, **network)
    kept = checkpoint_of(model.pk).parent
    assert (kept / "refit").exists() and not StoredFile.objects.filter(pk__gt=whole.stored_file_id).exists()
    trained_again = []
    with monkeypatch.context() as patch:
        at_step(patch, 1, lambda: trained_again.append((kept / "refit").stat().st_mtime_ns), refit=True)
        before = (kept / "refit").stat().st_mtime_ns
        assert card_of(ended_well(model)) == card_of(whole)
    assert trained_again == [before], "the first epoch of the refit came from its checkpoint"
    assert not kept.exists()


def test_a_refit_after_an_early_end_takes_the_best_epoch_so_far(manager, trained, monkeypatch, network):
    at_step(monkeypatch, BEST, lambda: manager.post(page("model_enough", TrainedModel.objects.get().pk)))
    model, job = trained(**network)
    assert (job.state, job.error, model.hold_out) == (JobState.DONE, "", FIGURES[:2])
    assert model.card["iterations"] == model.card["refit"]["iterations"] == BEST


def test_scores_say_on_page_command_and_api_that_the_model_was_trained_on_these_notes(world, trained, manager):
    plain, _ = trained(key="plain", iterations=2)
    refit, _ = trained(key="refit", refit=True, iterations=2)
    about = {"project": world.project, "actor": world.manager}
    of_plain, of_refit = (run_of(world.project, f"model:{model.pk}", model.name).author for model in (plain, refit))
    (used,) = next(filter(None, models_of(author=of_refit)))
    assert (used.model, used.notes, used.spans) == (refit.name, 20, 80), "for certificates"
    other = make.make_author(world.project, kind="run", name="other")
    refined = start_refinement(**about, source=of_refit.name, method="external", key="refined").author
    for note in world.version.notes.select_related("document"):
        for author in (other, refined):
            make.make_set(note.document, author, submitted=True)
    members = [MemberChoice(f"model:{plain.pk}"), MemberChoice(f"model:{refit.pk}")]
    merged = review_together(**about, runs=[other.name, of_refit.name], key="merged")
    both = start_ensemble(**about, members=members, method="union", key="both")
    for run in (merged, both):
        work(run.job_id)
    everything = list(world.version.notes.values_list("document", flat=True))
    for author, notes in (
        (other, 0), (of_plain, 16), (of_refit, 20), (merged.author, 20), (both.author, 20), (refined, 20),
    ):  # fmt: skip
        assert learned_notes(author, everything) == notes, author
    compared = told("compare_runs", "ward", "--gold", "1", "--runs", f"{of_plain.name},other")
    assert [one["notes_learned_from"] for one in compared["runs"]] == [16, 0]
    html = manager.get(f"{page('runs_compare')}?gold=1&a={of_plain.pk}&a={other.pk}").content.decode()
    assert "trained on 16 of these notes" in html
    said = f"The model of {of_refit.name} was trained on 20 of these notes, so its figures are too optimistic."
    assert said in manager.get(page("score", 1, of_refit.pk)).content.decode()
    assert "was trained on" not in manager.get(page("score", 1, other.pk)).content.decode()
    score = ("score", "ward", "--gold", "1", "--author", of_refit.name)
    by_api = Program(world.manager).get(f"/projects/ward/scores/1/{of_refit.pk}").json()["figures"]
    assert (
        "notes_learned_from: 20" in printed(*score)
        and told(*score)["notes_learned_from"] == by_api["notes_learned_from"] == 20
    )


def test_an_uploaded_file_of_a_refitted_model_says_which_notes_chose_its_iterations(trained, manager):
    model, _ = trained(refit=True, iterations=2)
    data = content_of(model)
    manager.post(page("model_retire", model.pk))  # an upload of the same file would be this model
    manager.post(page("model_upload"), {"file": SimpleUploadedFile("m.zip", data), "name": "copy"})
    copy = TrainedModel.objects.get(name="copy")
    html = " ".join(manager.get(page("model", copy.pk)).content.decode().split())
    assert "20 notes elsewhere. 4 of them chose the iterations, so figures on them are too optimistic." in html
    again = b"".join(manager.get(page("model_file", copy.pk)).streaming_content)
    assert again == data, "the next installation gets the same statement"
    rows = {row["model"]: row for row in told("models", "ward")["models"]}
    assert (rows["copy"]["refit_elsewhere"], rows[model.name]["refit_elsewhere"]) == (4, None)
    assert rows["copy"]["thresholds"] == [] != rows[model.name]["thresholds"]
