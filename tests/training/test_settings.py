"""Settings of trainings, from the form to the page: a kind's own, header dropout, copies with surrogates, hold-outs."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from django.core.management.base import CommandError
from django.urls import reverse

from annotations.core.services import ServiceError
from annotations.gold.rules import Split
from annotations.gold.services.making import freeze
from annotations.gold.services.splitting import split_version
from annotations.jobs.runner import run as work
from annotations.models import Author, Document, GoldVersionNote, Job, JobState, LabelSet, PublishedDecision
from annotations.ops.services.erasing import delete_note, erase_patient
from annotations.scores.selectors import learned_notes
from models_runtime.backends import children
from models_runtime.core import external
from models_runtime.core.gold_sources import training_notes
from models_runtime.core.registry import TRAINABLE
from models_runtime.core.stages import learned_from
from models_runtime.core.training_settings import Setting, checked
from models_runtime.models import Run, TrainedModel, TrainedModelState
from models_runtime.runs.services.ensembles import MemberChoice, start_ensemble
from models_runtime.training.jobs.calibration import calibration_by
from models_runtime.training.services.groups import start_group
from models_runtime.training.services.model_cards import erased_since
from models_runtime.training.services.training import start_training
from tests import factories as make
from tests.backends.made_weights import tiny_bert
from tests.held import made_once
from tests.pairs.piles import court, pair, pile_of
from tests.training.conftest import made_notes, page, refused, run_of
from tests.worlds.checks import check_page
from tests.worlds.commands import answered, printed, told
from tests.worlds.pages import signed_in
from tests.worlds.programs import Program
from tests.worlds.queue import worked

RATE = Setting("rate", "Learning rate", "number", least=0.0001, most=1)
BATCH = Setting("batch", "Notes in a batch", "whole", least=1, most=64, help="More notes need more memory.")
DECODING = Setting("decoding", "Decoding", "choice", choices={"crf": "best path", "argmax": "best tag"})
LAYER = Setting("layer", "CRF layer", "switch")
WORD = Setting("probe", "Sentence", "text", most=20)
ALL = (RATE, BATCH, DECODING, LAYER, WORD)


@pytest.fixture
def learned(monkeypatch):
    """The notes for learning, the held-out notes and the settings that each training's child process got."""
    received, train = [], children.train

    def kept(child, notes, path, *, options, held_out=(), **more):
        received.append((list(notes), list(held_out), options["settings"]))
        return train(child, received[-1][0], path, options=options, held_out=received[-1][1], **more)

    monkeypatch.setattr(children, "train", kept)
    return received


@pytest.fixture
def with_settings(monkeypatch, learned):
    """The CRF with settings, and what its learner received."""
    monkeypatch.setitem(TRAINABLE, "crf", replace(TRAINABLE["crf"], settings=ALL))
    return learned


@pytest.mark.parametrize(("given", "found"), [
    ({}, {}), ({"rate": "", "batch": None}, {}), ({"rate": "0.05", "batch": "8"}, {"rate": 0.05, "batch": 8}),
    ({"rate": 1, "batch": 64}, {"rate": 1, "batch": 64}),
    ({"decoding": "argmax", "layer": "no", "probe": " a "}, {"decoding": "argmax", "layer": False, "probe": "a"}),
    ({"layer": True}, {"layer": True}),
])  # fmt: skip
def test_values_get_their_types(given, found):
    assert checked(ALL, given, title="CRF") == found


@pytest.mark.parametrize(("key", "value", "right"), [
    ("rate", "fast", "from 0.0001 to 1"), ("rate", "nan", "from 0.0001 to 1"), ("rate", "9" * 5000, "from 0.0001 to 1"),
    ("batch", "0", "from 1 to 64"), ("batch", "2.5", "from 1 to 64"), ("decoding", "best", "crf, argmax"),
    ("layer", "maybe", "yes or no"), ("probe", "x" * 21, "at most 20 characters"),
    ("depth", "1", r"CRF has no setting “depth”\. Its settings: rate, batch"),
])  # fmt: skip
def test_a_wrong_value_is_refused_with_what_is_right(key, value, right):
    with pytest.raises(ServiceError, match=right) as caught:
        checked(ALL, {key: value}, title="CRF")
    assert caught.value.code in (key, "settings") and len(str(caught.value)) < 120


def test_settings_go_from_the_form_to_the_learner_and_the_page(manager, with_settings):
    assert "More notes need more memory." in check_page(manager.get(page("models")))
    form = {"gold": 1, "algorithm": "crf:ap", "iterations": "3", "crf-layer": "no", "token": "t"}
    response = manager.post(page("model_train"), form | {"crf-rate": "7", "crf-batch": "8"})
    html = check_page(response)
    assert response.status_code == 422 and not TrainedModel.objects.exists()
    assert response.context["train"].errors.keys() == {"crf-rate"} and 'name="crf-batch" value="8"' in html
    there = manager.post(page("model_train"), form | {"crf-rate": "0.05"}).url
    model = TrainedModel.objects.get()
    assert model.params == {"algorithm": "ap", "iterations": 3, "settings": {"rate": 0.05, "layer": False}}
    work(model.job_id)
    assert [settings for *_, settings in with_settings] == [{"rate": 0.05, "layer": False}]
    html = check_page(manager.get(there))
    assert "<dt>Learning rate</dt><dd>0.05</dd>" in html and "<dt>CRF layer</dt><dd>no</dd>" in html
    form |= {"algorithm": "spacy:quick", "crf-rate": "wrong", "iterations": "", "token": "u"}
    assert manager.post(page("model_train"), form).status_code == 302, "settings of other kinds are ignored"


def test_settings_of_the_command(world, with_settings):
    words = ["train_model", "ward", "--gold", "1", "--algorithm", "ap", "--iterations", "3", "--wait"]
    printed(*words, "--set", "rate=0.1", "--set", "probe=a = b")
    assert [settings for *_, settings in with_settings] == [{"rate": 0.1, "probe": "a = b"}]
    for wrong, why in (
        (["rate"], "--set takes KEY=VALUE"), (["rate=1", "rate=0.5"], "each key once, not “rate=0.5”"),
        (["depth=2"], "no setting “depth”"),
    ):  # fmt: skip
        with pytest.raises(CommandError, match=why):
            printed(*words, *(word for value in wrong for word in ("--set", value)))


HEADER = "Ospedale Civile\nReparto: Medicina\nLetto: 7\n"
PROSE = "La paziente di Novara vive sola. Dolore, riposo, controllo tra un mese, poi visita ed esami del sangue.\n"
BOTH = {"header_dropout": "0.5", "surrogates": "1"}


@pytest.fixture
def shipped(world):
    """Labels with kinds, and notes with a header, as version 2."""
    LabelSet.objects.filter(project=world.project).update(key="i2b2-2014")
    gold = Author.objects.get(project=world.project, kind="gold")
    for number, (text, spans) in enumerate(list(made_notes(32))[20:]):
        moved = [(start + len(HEADER), end + len(HEADER), label) for start, end, label in spans]
        note = make.make_note(world.project, HEADER + text + PROSE, f"intero-{number:02}", language="it")
        make.make_set(note, gold, moved, submitted=True)
    return freeze(project=world.project, actor=None)[0].number


def test_a_card_counts_gold_notes_without_copies_and_held_out_notes_are_as_they_were(shipped, manager, learned):
    form = {"gold": shipped, "algorithm": "crf:ap", "iterations": "5", "token": "t", "refit": "on"}
    manager.post(page("model_train"), form | {f"crf-{key}": value for key, value in BOTH.items()})
    model = worked(TrainedModel.objects.get())
    (first, held_out, _), (everything, _, settings) = learned
    assert model.card["notes"] == len(first) and model.card["refit"]["notes"] == len(everything) == 32
    assert settings == model.params["settings"] == {"header_dropout": 0.5, "surrogates": 1}
    gold = {row.document.text for row in GoldVersionNote.objects.filter(version__number=shipped)}
    assert held_out and {text for text, _ in held_out} <= gold
    assert model.card["held_out"] == len(held_out) == model.card["scores"]["notes"]


def test_the_command_and_the_api_train_the_same_model_byte_for_byte(world, shipped):
    words = ["--gold", str(shipped), "--algorithm", "ap", "--iterations", "5", "--wait"]
    given = [word for pair in BOTH.items() for word in ("--set", "=".join(pair))]
    printed("train_model", "ward", *words, *given)
    made = TrainedModel.objects.get().card["sha256"]
    program = Program(world.manager)
    body = {"gold": shipped, "kind": "crf", "algorithm": "ap", "iterations": 5, "settings": BOTH}
    program.post("/projects/ward/models", body)
    work(TrainedModel.objects.latest("pk").job_id)
    assert TrainedModel.objects.latest("pk").card["sha256"] == made
    kinds = program.get("/projects/ward/training-choices").json()["kinds"]
    offered = {one["kind"]: {setting["key"] for setting in one["settings"]} for one in kinds}
    assert [kind for kind, keys in offered.items() if set(BOTH) <= keys] == ["crf", "spacy", "bilstm"]


def test_other_label_sets_have_no_surrogates_and_settings_have_bounds(world, manager, trained):
    form = {"gold": 1, "algorithm": "crf:ap", "crf-surrogates": "1", "token": "t"}
    response = manager.post(page("model_train"), form)
    assert response.status_code == 422 and "Set their copies to 0." in check_page(response)
    for wrong in ({"header_dropout": "1.5"}, {"header_dropout": "-1"}, {"surrogates": "6"}):
        refused(world, "It must be: from 0 to", settings=wrong)
    assert not TrainedModel.objects.exists()
    model, _ = trained(settings={"surrogates": "0", "header_dropout": "1"})
    assert model.state == TrainedModelState.READY


# ── Random hold-outs: members of an ensemble that differ ──────────────────────────────────────────────────────────────
def split(world, seed="s", dev=20, test=20):
    split_version(version=world.version, seed=seed, shares={"train": 60, "dev": dev, "test": test}, actor=None)
    world.version.refresh_from_db()


def started(world, key, **options):
    """Trainings that have not begun."""
    options = {"algorithm": "ap", "iterations": 8, "random_splits": True, **options}
    return start_group(project=world.project, gold=1, actor=world.manager, key=key, **options)


def worked_on(rows):
    for row in rows:
        worked(row)
    return rows


@pytest.fixture
def members(world):
    """Split the version into train, dev and test notes, and train two CRFs with random hold-outs."""
    split(world)
    return worked_on(started(world, "k", name="one", runs=2))


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
        assert not {patients[pk] for pk in train} & {patients[pk] for pk in hold_out} and not notes.of_version
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
    worked_on(started(world, "a", name="base", iterations=2, random_splits=False))
    (later,) = started(world, "b", base="base", random_splits=False)
    split(world, "other", dev=40, test=0)
    work(later.job_id)
    job = Job.objects.get(pk=later.job_id)
    assert job.state == JobState.FAILED and "notes that this training must not see" in job.error


def test_the_command_trains_members_with_random_hold_outs(world):
    given = ("train_model", "ward", "--gold", 1, "--algorithm", "ap", "--iterations", 3, "--random-splits", "--wait")
    found = told(*given, "--runs", 2)
    assert [each["random_split"] for each in found["models"]] == [7, 8]
    assert set(found["f1"]) >= {"entity subcategory"} and found["random_splits"]
    said = printed(*given, "--runs", 2, "--name", "it")
    for words in ("it-1", "it-2", "random_split: 7", "held_out: 4", "entity subcategory: mean "):
        assert words in said


def test_the_form_and_the_pages_of_the_members(manager):
    data = {"gold": 1, "algorithm": "crf:ap", "iterations": 5, "runs": 2, "random_splits": "on", "token": "t"}
    assert manager.post(page("model_train"), data).status_code == 302
    _, two = worked_on(TrainedModel.objects.order_by("pk"))
    html = check_page(manager.get(page("model", two.pk)))
    assert "4 notes (20%), drawn at random by patient for this training, seed 8" in html
    assert "2 trainings with different hold-outs" in html
    again = manager.post(page("model_train"), data | {"random_splits": "", "token": "u"})
    assert again.status_code == 422 and "Choose random hold-outs, or one of" in again.content.decode()
    assert Job.objects.count() == 2


# Silver data: a training also learns from published decisions, whose labels nobody reviewed.


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


made_pile, pile = made_once(build_court, "long_lease", name="made_pile")


def silver_notes_of(model):
    return set(Document.objects.filter(pk__in=model.card["silver"]["documents"]).values_list("name", flat=True))


def test_a_transformer_learns_from_published_decisions(pile, tmp_path, monkeypatch):
    """Salierno et al. 2024, section 6: chunks of 512, a label on each sub-word, a reweighted loss."""
    monkeypatch.setattr(external, "weights_home", lambda: tmp_path)
    texts = list(Document.objects.filter(project=pile.project).values_list("text", flat=True))
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


def trained(pile, **options):
    model = start_training(
        project=pile.project, gold=1, actor=pile.manager, key="k", silver="published-1",
        **{"iterations": 8, **options},
    )  # fmt: skip
    worked(model)
    assert Job.objects.get(pk=model.job_id).state == JobState.DONE
    return model


def test_the_card_marks_silver_data_and_erasures_in_it(pile):
    model = trained(pile, refit=True)
    assert len(silver_notes_of(model)) == 19 and model.card["refit"]["notes"] == 10
    assert set(model.card["silver"]["documents"]) <= learned_from(model)
    client = signed_in(pile.manager)
    page = reverse("model", args=["court", model.pk])
    assert "Nobody had reviewed them" in check_page(client.get(page))
    read = Program(pile.manager).get(f"/projects/court/models/{model.pk}").json()
    assert (read["silver"]["notes"], read["erased_since"]) == (19, False)
    delete_note(project=pile.project, note=model.card["silver"]["documents"][0], actor=pile.manager)
    assert "were erased or deleted since" in check_page(client.get(page))


def test_page_and_route_start_it_and_name_what_is_wrong(pile):
    client, program = signed_in(pile.manager), Program(pile.manager)
    assert 'value="published-1"' in check_page(client.get(reverse("models", args=["court"])))
    sent = {"gold": 1, "algorithm": "crf:ap", "silver": "published-1", "token": "t", "language": "", "base": ""}
    assert client.post(reverse("model_train", args=["court"]), sent).status_code == 302
    wrong = client.post(reverse("model_train", args=["court"]), sent | {"silver": "x", "token": "u"})
    assert wrong.context["train"].errors.keys() == {"silver"}
    assert program.get("/projects/court/training-choices").json()["silver"] == ["published-1"]
    assert program.post("/projects/court/models", {"gold": 1, "silver": "published-1"}).status_code == 202
    assert program.post("/projects/court/models", {"gold": 1, "silver": "x"}).status_code == 422
    assert TrainedModel.objects.filter(params__silver__name="published-1").count() == 2


def test_a_training_needs_labels_and_notes_without_gold(pile):
    for backend in ("characters", "masked"):
        with pytest.raises(ServiceError) as caught:
            start_training(
                project=pile.project, gold=1, actor=None, key=backend, silver="published-1", backend=backend, base="x"
            )
        assert caught.value.code in ("silver", "base")
    PublishedDecision.objects.filter(aligned__gte=0.8).update(aligned=0.1)
    with pytest.raises(ServiceError) as caught:
        start_training(project=pile.project, gold=1, actor=None, key="none", silver="published-1")
    assert caught.value.code == "silver"
