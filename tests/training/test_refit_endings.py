"""A refit that is killed, canceled or ended early; refits of networks; the copy of a refitted model."""

import json
import os
import signal
import sys
from datetime import timedelta
from itertools import cycle
from types import SimpleNamespace

import pytest
from django.db.models.functions import Now
from django.urls import reverse

from annotations.jobs.runner import run as work
from annotations.jobs.services import queue
from annotations.jobs.services.sweep import sweep
from annotations.models import Job, StoredFile
from models_runtime.backends import child, children
from models_runtime.core import weights as found_here
from models_runtime.models import Calibration, TrainedModel
from models_runtime.training.jobs import training, watching
from models_runtime.training.jobs.checkpoints import checkpoint_of
from models_runtime.training.services.training import start_training
from tests.training.conftest import made_notes

pytestmark = pytest.mark.queue

State = TrainedModel.State
# What differs between two trainings that give the same model.
OWN = {"date", "seconds", "memory"}
NETWORKS = {
    "bilstm": {"backend": "bilstm", "algorithm": "quick", "iterations": 3},
    "transformer": {"backend": "transformer", "algorithm": "fresh", "base": "tiny-bert", "iterations": 3},
}
# F1 on the held-out notes after each epoch: the second one is the best.
FIGURES = [0.2, 0.9, 0.5]
BEST = 2


class Killed(BaseException):
    """The end of a worker: nothing after it runs."""


@pytest.fixture
def here(monkeypatch):
    """Trainings run in this process, by the code of the child process, because its libraries load slowly."""

    def train(module, notes, path, *, options, unlabeled, on_step, held_out=(), self_labeled=()):
        def say(message):
            if on_step(message):
                os.kill(os.getpid(), signal.SIGUSR1)

        parts = (
            [options],
            map(children._line, notes),
            [None],
            unlabeled,
            [None],
            map(children._line, held_out),
            [None],
            self_labeled,
            [None],
        )
        lines = [json.dumps(value).encode() for part in parts for value in part]
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=lines))
        return child._learned(module, path, say)

    earlier = signal.getsignal(signal.SIGUSR1)
    monkeypatch.setattr(children, "train", train)
    yield
    signal.signal(signal.SIGUSR1, earlier)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    from tests.backends.made_weights import tiny_bert

    home = tmp_path_factory.mktemp("weights")
    tiny_bert(home / "tiny-bert", [text for text, _ in made_notes(40)])
    return home


@pytest.fixture
def options_of(monkeypatch, request):
    """`options_of(name)`: the options of a training of this network, whose epochs have the F1 of FIGURES."""
    figures = cycle(FIGURES)

    def f1(pairs):
        return next(figures) if list(pairs) else None

    def go(name):
        from models_runtime.backends.bilstm_crf import training as bilstm
        from models_runtime.backends.token_classification.held_out import HeldOut

        monkeypatch.setattr(bilstm, "f1", f1)
        monkeypatch.setattr(HeldOut, "figures", lambda self: {"f1": f1(self._notes)})
        if name == "transformer":
            folders = request.getfixturevalue("folders")
            monkeypatch.setattr(found_here, "home", lambda: folders)
        return NETWORKS[name]

    return go


def at_refit_step(monkeypatch, step, act):
    """Call `act` when the refit reports this iteration."""
    train = children.train

    def watched(*words, on_step, options, **more):
        def tell(said):
            stop = on_step(said)
            if "refit" in options and said and said.get("iteration") == step:
                act()
            return stop

        return train(*words, on_step=tell, options=options, **more)

    monkeypatch.setattr(children, "train", watched)
    monkeypatch.setattr(watching, "WRITE_EVERY", 0)
    monkeypatch.setattr("annotations.jobs.runner.claims.WRITE_EVERY", 0)


def kill():
    raise Killed


def card_of(model):
    return {key: value for key, value in model.card.items() if key not in OWN}


def page_of(client, model):
    return client.get(reverse("model", args=["ward", model.pk])).content.decode()


def killed_in_refit(world, monkeypatch, step, **options):
    """Start a training whose worker is killed at this iteration of the refit."""
    with monkeypatch.context() as patch:
        at_refit_step(patch, step, kill)
        model = start_training(
            project=world.project, gold=1, actor=world.manager, key="killed", refit=True, **options
        )  # fmt: skip
        with pytest.raises(Killed):
            work(model.job_id)
    model.refresh_from_db()
    return model


def resumed(model):
    """Let another worker continue after the lease of the killed one ran out."""
    Job.objects.filter(pk=model.job_id).update(lease_until=Now() - timedelta(seconds=1))
    sweep()
    work(model.job_id)
    model.refresh_from_db()
    job = Job.objects.get(pk=model.job_id)
    assert (job.state, job.error, job.attempt, job.done) == (Job.State.DONE, "", 2, job.total)
    return model


def test_a_refit_whose_worker_is_killed_gives_the_same_model(world, trained, client, monkeypatch):
    model = killed_in_refit(world, monkeypatch, 2, iterations=8)
    assert (model.state, model.stored_file) == (State.TRAINING, None)
    assert not StoredFile.objects.exists() and not Calibration.objects.exists()
    assert "refit" not in model.card and "sha256" not in model.card and len(model.card["refit_losses"]) == 2
    client.force_login(world.manager)
    html = page_of(client, model)
    assert f"Refit on all notes: 2 of {model.card['refit_most']} iterations" in html
    assert "Refit with" not in html and 'id="model-enough"' not in html
    whole, _ = trained(key="whole", refit=True)
    assert card_of(resumed(model)) == card_of(whole)
    assert "Refit with" in page_of(client, model)


def test_a_canceled_refit_leaves_no_model_and_starts_again(world, trained, client, monkeypatch):
    with monkeypatch.context() as patch:
        at_refit_step(patch, 2, lambda: queue.cancel(Job.objects.get(kind="train")))
        model, job = trained(refit=True, name="mine")
    assert (job.state, model.state, model.stored_file) == (Job.State.CANCELED, State.FAILED, None)
    assert not StoredFile.objects.exists() and not Calibration.objects.exists()
    assert not checkpoint_of(model.pk).exists()
    assert "refit" not in model.card and "sha256" not in model.card
    client.force_login(world.manager)
    html = page_of(client, model)
    assert "Refit on all notes" not in html and "Refit with" not in html and "was kept" not in html
    client.post(reverse("job_retry", args=["ward", job.number]))
    model.refresh_from_db()
    assert (model.state, model.card) == (State.TRAINING, {})
    work(model.job_id)
    model.refresh_from_db()
    whole, _ = trained(key="whole", refit=True)
    assert card_of(model) == card_of(whole)


@pytest.mark.parametrize("network", [pytest.param("bilstm", marks=pytest.mark.nightly), "transformer"])
def test_a_network_is_refitted_for_the_epochs_that_the_hold_out_chose(
    world, trained, client, monkeypatch, here, options_of, network
):
    asked, scored = options_of(network), []
    score = training.hold_out_scores

    def spied(backend, *words, **options):
        scored.append(backend.revision)
        return score(backend, *words, **options)

    monkeypatch.setattr(training, "hold_out_scores", spied)
    whole, job = trained(refit=True, **asked)
    assert (job.state, job.error, job.done) == (Job.State.DONE, "", job.total)
    card, refit = whole.card, whole.card["refit"]
    assert whole.hold_out == FIGURES
    assert card["iterations"] == card["refit_most"] == refit["iterations"] == len(card["refit_losses"]) == BEST
    # The figures are those of the held-out model after that epoch, of which only the hash is kept.
    (revision,) = scored
    assert refit["held_out_sha256"][:12] in revision
    assert refit["held_out_sha256"] != card["sha256"] == whole.stored_file.sha256
    assert (card["notes"], card["scores"]["notes"], refit["notes"]) == (16, 4, 20)
    client.force_login(world.manager)
    assert "The best epoch was kept" in page_of(client, whole)

    model = killed_in_refit(world, monkeypatch, 2, **asked)
    kept = checkpoint_of(model.pk).parent
    assert (kept / "refit").exists() and not StoredFile.objects.filter(pk__gt=whole.stored_file_id).exists()
    trained_again = []
    with monkeypatch.context() as patch:
        at_refit_step(patch, 1, lambda: trained_again.append((kept / "refit").stat().st_mtime_ns))
        before = (kept / "refit").stat().st_mtime_ns
        assert card_of(resumed(model)) == card_of(whole)
    assert trained_again == [before], "the first epoch of the refit came from its checkpoint"
    assert not kept.exists()


def test_a_refit_after_an_early_end_takes_the_best_epoch_so_far(world, trained, client, monkeypatch, here, options_of):
    train = children.train

    def ended(*words, on_step, options, **more):
        def tell(said):
            if "refit" not in options and said and said.get("iteration") == BEST:
                client.post(reverse("model_enough", args=["ward", TrainedModel.objects.get().pk]))
            return on_step(said)

        return train(*words, on_step=tell, options=options, **more)

    monkeypatch.setattr(children, "train", ended)
    client.force_login(world.manager)
    model, job = trained(refit=True, **options_of("transformer"))
    assert (job.state, job.error, model.hold_out) == (Job.State.DONE, "", FIGURES[:2])
    assert model.card["iterations"] == model.card["refit"]["iterations"] == BEST


def test_the_page_of_a_canceled_refit_of_a_network_claims_no_kept_epoch(
    world, trained, client, monkeypatch, here, options_of
):
    at_refit_step(monkeypatch, 1, lambda: queue.cancel(Job.objects.get(kind="train")))
    model, job = trained(refit=True, **options_of("transformer"))
    assert (job.state, model.state, len(model.hold_out)) == (Job.State.CANCELED, State.FAILED, 3)
    client.force_login(world.manager)
    html = page_of(client, model)
    assert "F1 on held-out notes by epoch" in html and "was kept" not in html
    assert not checkpoint_of(model.pk).exists()
