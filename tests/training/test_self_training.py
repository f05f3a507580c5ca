"""Self-training: a training also learns from notes without gold, with the labels of a run where it is sure."""

from functools import partial
from types import SimpleNamespace

import pytest

from annotations.core.services import ServiceError
from annotations.gold.rules import Split
from annotations.gold.services.splitting import split_version
from annotations.jobs.runner import run as work
from annotations.models import AuthorKind, Document, GoldVersion, GoldVersionNote, Job, JobState, Span
from annotations.ops.services.erasing import delete_note, erase_patient
from annotations.scores.selectors import learned_notes
from models_runtime.backends import children
from models_runtime.backends.marginals import ABOVE
from models_runtime.core.combining import models_behind
from models_runtime.core.gold_sources import training_notes
from models_runtime.core.stages import chosen_run, labels_of, learned_from, notes_without_gold
from models_runtime.models import Refinement, Run, TrainedModel
from models_runtime.runs.services.backends import ThresholdGoal
from models_runtime.runs.services.ensembles import review_together
from models_runtime.runs.services.runs import start_run
from models_runtime.training.services.training import end_early, start_training
from tests import factories as make
from tests.held import made_once
from tests.training.conftest import build_world, made_notes, page, resumed, run_of, train
from tests.worlds.killing import Killed
from tests.worlds.programs import Program

LOW = {"wanted": ThresholdGoal(threshold=0.05)}


def build_ward():
    """Eight notes without gold, one more with a gold note's text, and a run of a model at a threshold of 0.05."""
    world = build_world()
    for number, (text, _) in enumerate(made_notes(26)):
        if number >= 20:
            make.make_note(world.project, text + "Torna a casa.\n", f"nuovo-{number}", patient_id=f"n{number}")
    twin = make.make_note(world.project, world.project.documents.get(name="caso-03").text, "copia", patient_id="c")
    model, _job = train(world, key="teacher", iterations=15)
    run = run_of(world.project, f"model:{model.pk}", **LOW)
    at = {"project": world.project, "actor": world.manager}
    return SimpleNamespace(
        world=world, project=world.project, version=world.version, model=model, backend=run.backend, run=run,
        name=run.author.name, twin=twin, at=at,
    )  # fmt: skip


made_gold, ward = made_once(build_ward, "long_lease", name="made_gold")


@pytest.fixture
def trained(ward):
    return partial(train, ward.world)


def starts(ward, key, **options):
    return start_training(**ward.at, **{"gold": 1, "key": key, "iterations": 8, "self_training": ward.name, **options})


def merged_of(ward, *names):
    merged = review_together(**ward.at, runs=[ward.name, *names], key="m")
    work(merged.job_id)
    return merged


def without_gold(ward, run=None):
    return notes_without_gold(run or ward.run, [ward.version], {})


def test_a_training_learns_from_the_sure_lines_of_notes_without_gold(ward, trained, client):
    model, job = trained(key="self", self_training=ward.name)
    assert (job.state, job.error, job.done) == (JobState.DONE, "", job.total)
    own = model.card["self_training"]
    inside = set(ward.version.notes.values_list("document", flat=True))
    without = set(ward.project.documents.values_list("pk", flat=True)) - inside - {ward.twin.pk}
    assert own["documents"] and set(own["documents"]) <= without and own["read"] == len(without) == 8
    assert (own["run"], own["models"], own["weight"]) == (ward.name, [ward.model.name], 0.5)
    assert (model.card["notes"], model.card["held_out"]) == (16, 4), "they are no gold"
    assert "self_training" not in ward.model.card
    assert learned_from(model) == learned_from(ward.model) | set(own["documents"])
    run = run_of(ward.project, f"model:{model.pk}", key="s")
    assert learned_notes(run.author, own["documents"]) == len(own["documents"])
    assert learned_notes(run.author, [ward.twin.pk]) == 0
    client.force_login(ward.world.manager)
    n = len(own["documents"])
    assert f"Also trained on {n} notes without gold, of 8" in client.get(page("model", model.pk)).content.decode()
    read = Program(ward.world.manager).get(f"/projects/ward/models/{model.pk}").json()
    assert (read["self_training"]["notes"], read["self_training"]["run"], read["erased_since"]) == (n, ward.name, False)
    delete_note(project=ward.project, note=own["documents"][0], actor=ward.world.manager)
    assert "were erased or deleted since" in client.get(page("model", model.pk)).content.decode()


def test_members_of_a_merged_list_must_agree_and_be_sure(ward, trained):
    other, _ = trained(key="other", algorithm="ap")
    merged = merged_of(ward, run_of(ward.project, f"model:{other.pk}", key="second").author.name)
    model, job = trained(key="agreed", self_training=merged.author.name, refit=True)
    assert job.state == JobState.DONE, job.error
    assert set(model.card["self_training"]["models"]) == {ward.model.name, other.name}
    assert model.card["refit"]["notes"] == 20 and model.card["sha256"] != model.card["refit"]["held_out_sha256"]
    assert model.card["self_training"]["spans"]

    def learned(agree, **said):
        """How many spans it learns from if each is of so many runs that say this."""
        runs = [{"run": name, **said} for name in ("a", "b")] if said else []
        provenance = {"runs": runs, "agree": agree, "of": 2}
        Span.objects.filter(annotation_set__author=merged.author).update(provenance=provenance)
        return sum(len(found.spans) for *_, found in labels_of(merged, without_gold(ward, merged)) if found)

    assert learned(2, confidence=0.99, source="crf") and not learned(1, confidence=0.99, source="crf")
    assert not learned(2, confidence=0.06, source=f"crf{ABOVE}0.05"), "both are sure only above the threshold"


def test_what_a_refined_member_learned_from_counts(ward):
    plain = run_of(ward.project, ward.backend, key="plain")
    author = make.make_author(ward.project, kind=AuthorKind.REFINED, name="refined-1")
    for note in ward.project.documents.all():
        make.make_set(note, author, [], submitted=True)
    refinement = Refinement.objects.create(
        project=ward.project, source=ward.run.author, author=author, method=Refinement.Method.OFFLINE
    )
    merged = review_together(**ward.at, runs=["refined-1", plain.author.name], key="m")
    work(merged.job_id)
    Run.objects.filter(pk=plain.pk).update(model=None)
    assert [model.name for model in models_behind(merged)] == [ward.model.name]
    assert chosen_run(ward.project, merged.author.name, [ward.version], {}) == merged
    make.change(refinement, gold_version=ward.version)
    with pytest.raises(ServiceError, match="“refined-1”, which is behind this run, learned from 4 notes"):
        chosen_run(ward.project, merged.author.name, [ward.version], {})


def test_notes_of_the_hold_out_and_of_tests_are_never_learned_from(ward, trained):
    shares = {"train": 60, "dev": 20, "test": 20}
    split_version(version=ward.version, seed="s", shares=shares, actor=ward.world.manager)
    with pytest.raises(ServiceError, match="that this training must not see before scoring"):
        starts(ward, "leaks")
    model, _ = trained(key="split", iterations=15)
    run = run_of(ward.project, f"model:{model.pk}", key="split", **LOW)
    learner, job = trained(key="ok", self_training=run.author.name)
    assert job.state == JobState.DONE, job.error
    unseen = GoldVersionNote.objects.filter(version=ward.version).exclude(split=Split.TRAIN)
    assert not learned_from(learner).intersection(unseen.values_list("document_id", flat=True))


def test_notes_with_gold_later_notes_and_notes_of_held_out_patients_are_left_out(ward):
    note, new = (Document.objects.get(name=name) for name in ("nuovo-20", "nuovo-21"))
    make.make_set(note, "gold", [])
    found = without_gold(ward)
    assert note.pk not in found and len(found) == 7
    assert notes_without_gold(ward.run, [ward.version], {}, found[0]) == found[:1]
    patient = Document.objects.get(pk=training_notes(ward.version).hold_out[0]).patient_id
    Document.objects.filter(pk=found[0]).update(patient_id=patient)
    assert without_gold(ward) == found[1:], "the patient is held out"
    other = make.make_note(ward.project, "Un testo.", "prova", patient_id=new.patient_id)
    version = GoldVersion.objects.create(project=ward.project, number=2, note_count=1, span_count=0)
    GoldVersionNote.objects.create(version=version, document=other, split=Split.TEST, spans=[])
    assert new.pk in found[1:] and new.pk not in without_gold(ward), "the patient is for tests elsewhere"


def test_what_a_training_can_t_learn_from_is_refused(ward):
    def refused(why, **given):
        with pytest.raises(ServiceError, match=why) as caught:
            starts(ward, "refused", **given)
        assert caught.value.code == "self_training"

    plain = run_of(ward.project, ward.backend, key="plain")
    refused(f"There is no run “x”. Runs to learn from: {ward.name}", self_training="x")
    refused("doesn't show where it is unsure", self_training=plain.author.name)
    waiting = start_run(**ward.at, backend=ward.backend, wanted=ThresholdGoal(threshold=0.01), key="w")
    refused("is not finished", self_training=waiting.author.name)
    refused("spaCy can't learn from labels of a run", backend="spacy")
    Run.objects.filter(pk=ward.run.pk).update(spans_without_label=3)
    refused("left 3 spans out, because this project has no label")
    Run.objects.filter(pk=ward.run.pk).update(spans_without_label=0)
    Document.objects.filter(name__regex="^(altro|nuovo)").delete()
    refused("has annotated no note without gold")


def test_what_ends_a_training_and_what_can_not(ward):
    first = starts(ward, "early", backend="bilstm", algorithm="quick", iterations=1)
    Job.objects.filter(pk=first.job_id).update(state=JobState.RUNNING)
    with pytest.raises(ServiceError, match="The first round of self-training is not complete"):
        end_early(model=first)
    unsure, gone = (starts(ward, key) for key in ("unsure", "gone"))
    Span.objects.filter(annotation_set__author=ward.run.author).update(confidence=0.5)
    work(unsure.job_id)
    assert "has no confident span in a note without gold" in Job.objects.get(pk=unsure.job_id).error
    Run.objects.filter(pk=ward.run.pk).delete()
    work(gone.job_id)
    assert "no longer exists. Start a new training with another run." in Job.objects.get(pk=gone.job_id).error


def test_the_form_and_the_api_start_it(ward, client):
    client.force_login(ward.world.manager)
    data = {"gold": 1, "algorithm": "crf:ap", "self_training": ward.name, "token": "t", "language": "", "base": ""}
    assert client.post(page("model_train"), data).status_code == 302
    wrong = client.post(page("model_train"), data | {"self_training": "x", "token": "u"})
    assert wrong.context["train"].errors.keys() == {"self_training"}
    program = Program(ward.world.manager)
    assert program.get("/projects/ward/training-choices").json()["self_training"] == [ward.name]
    assert program.post("/projects/ward/models", {"gold": 1, "self_training": ward.name}).status_code == 202
    assert TrainedModel.objects.filter(params__self_training={"run": ward.run.pk, "name": ward.name}).count() == 2


def test_a_killed_self_training_gives_the_same_model_and_an_erasure_ends_it(ward, trained, monkeypatch):
    whole, _ = trained(key="whole", self_training=ward.name)
    train = children.train
    for round_number in (1, 2):
        calls = []

        def killed(*words, calls=calls, number=round_number, **more):
            calls.append(more)
            if len(calls) == number:
                raise Killed
            return train(*words, **more)

        monkeypatch.setattr(children, "train", killed)
        model = starts(ward, f"killed-{round_number}")
        TrainedModel.objects.filter(pk=model.pk).update(losses=[0.5])  # of an earlier attempt, in its second round
        with pytest.raises(Killed):
            work(model.job_id)
        monkeypatch.undo()
        assert make.reread(model).losses == [] and resumed(model).card["sha256"] == whole.card["sha256"]

    def erased(*words, **more):
        if Document.objects.filter(patient_id="n20").exists():
            erase_patient(project=ward.project, patient_id="n20", actor=ward.world.manager)
        return train(*words, **more)

    monkeypatch.setattr(children, "train", erased)
    model, job = trained(key="erased", self_training=ward.name)
    assert (job.state, model.stored_file) == (JobState.FAILED, None) and "erased during this work" in job.error
    assert len(without_gold(ward)) == 7
