"""Silver data: a training also learns from published decisions, whose labels nobody reviewed."""

from types import SimpleNamespace

import pytest
from django.urls import reverse

from annotations.core.services import ServiceError
from annotations.gold.services.making import freeze
from annotations.models import Document, Job, JobState, PublishedDecision
from annotations.ops.services.erasing import delete_note
from models_runtime.core import external
from models_runtime.core.stages import learned_from
from models_runtime.models import TrainedModel
from models_runtime.training.services.training import start_training
from tests import factories as make
from tests.backends.made_weights import tiny_bert
from tests.held import made_once
from tests.pairs.piles import court, pair, pile_of
from tests.worlds.checks import check_page
from tests.worlds.commands import answered
from tests.worlds.pages import signed_in
from tests.worlds.programs import Program
from tests.worlds.queue import worked

GOLD = 10


def build_court():
    """Thirty pairs of decisions: ten notes of them have reviewed gold, frozen as version 1, and one pair is flagged."""
    project = court()
    made, texts = pile_of(30)
    pair(project, texts)
    for number, one in enumerate(made[:GOLD], 1):
        note = Document.objects.get(project=project, name=f"clear-{number}")
        make.make_set(note, "gold", [(*bounds, "OMISSIS") for bounds in one.hidden])
    freeze(project=project, actor=None)
    PublishedDecision.objects.filter(name="published-30").update(aligned=0.5)
    manager = make.make_member(project, "manager", "mia")
    return SimpleNamespace(project=project, manager=manager)


made_gold, world = made_once(build_court, "long_lease", name="made_gold")


def silver_notes_of(model):
    return set(Document.objects.filter(pk__in=model.card["silver"]["documents"]).values_list("name", flat=True))


def test_a_transformer_learns_from_published_decisions(world, tmp_path, monkeypatch):
    """Salierno et al. 2024, section 6: chunks of 512, a label on each sub-word, a reweighted loss."""
    monkeypatch.setattr(external, "weights_home", lambda: tmp_path)
    texts = list(Document.objects.filter(project=world.project).values_list("text", flat=True))
    tiny_bert(tmp_path / "tiny", texts, positions=512)
    options = ("--algorithm", "weighted", "--base", "tiny", "--iterations", 3, "--set", "chunks=disjoint")
    more = (
        "--set", "sub_words=every", "--set", "decoding=argmax", "--set", "rate=0.003", "--name", "giudice", "--wait",
    )  # fmt: skip
    told = answered("train_model", "court", "--gold", 1, "--silver", "published-1", *options, *more)
    model = TrainedModel.objects.get(name="giudice")
    assert told["silver"] == {"author": "published-1", "notes": 19, "spans": 152} and told["f1"] is not None
    assert silver_notes_of(model) == {f"clear-{number}" for number in range(GOLD + 1, 30)}, "neither gold nor flagged"
    assert (model.card["notes"], model.card["held_out"]) == (8, 2), "figures are those of reviewed notes"
    assert model.card["epochs"][-1]["tokens"]["recall"] > 0.9, "it finds what the published versions hide"


def trained(world, **options):
    model = start_training(
        project=world.project, gold=1, actor=world.manager, key="k", silver="published-1",
        **{"iterations": 8, **options},
    )  # fmt: skip
    worked(model)
    assert Job.objects.get(pk=model.job_id).state == JobState.DONE
    return model


def test_the_card_marks_silver_data_and_erasures_in_it(world):
    model = trained(world, refit=True)
    assert len(silver_notes_of(model)) == 19 and model.card["refit"]["notes"] == 10
    assert set(model.card["silver"]["documents"]) <= learned_from(model)
    client = signed_in(world.manager)
    page = reverse("model", args=["court", model.pk])
    assert "Nobody had reviewed them" in check_page(client.get(page))
    read = Program(world.manager).get(f"/projects/court/models/{model.pk}").json()
    assert (read["silver"]["notes"], read["erased_since"]) == (19, False)
    delete_note(project=world.project, note=model.card["silver"]["documents"][0], actor=world.manager)
    assert "were erased or deleted since" in check_page(client.get(page))


def test_page_and_route_start_it_and_name_what_is_wrong(world):
    client, program = signed_in(world.manager), Program(world.manager)
    models = reverse("models", args=["court"])
    assert 'value="published-1"' in check_page(client.get(models))
    sent = {"gold": 1, "algorithm": "crf:ap", "silver": "published-1", "token": "t", "language": "", "base": ""}
    assert client.post(reverse("model_train", args=["court"]), sent).status_code == 302
    wrong = client.post(reverse("model_train", args=["court"]), sent | {"silver": "x", "token": "u"})
    assert wrong.context["train"].errors.keys() == {"silver"}
    assert program.get("/projects/court/training-choices").json()["silver"] == ["published-1"]
    assert program.post("/projects/court/models", {"gold": 1, "silver": "published-1"}).status_code == 202
    assert program.post("/projects/court/models", {"gold": 1, "silver": "x"}).status_code == 422
    assert TrainedModel.objects.filter(params__silver__name="published-1").count() == 2


def test_a_training_needs_labels_and_notes_without_gold(world):
    for backend in ("characters", "masked"):
        with pytest.raises(ServiceError) as caught:
            start_training(
                project=world.project, gold=1, actor=None, key=backend, silver="published-1", backend=backend, base="x"
            )
        assert caught.value.code in ("silver", "base")
    PublishedDecision.objects.filter(aligned__gte=0.8).update(aligned=0.1)
    with pytest.raises(ServiceError) as caught:
        start_training(project=world.project, gold=1, actor=None, key="none", silver="published-1")
    assert caught.value.code == "silver"
