"""Self-training: a training also learns from notes without gold, with the labels of a run where it is sure."""

import io
import json
from datetime import timedelta
from functools import partial
from types import SimpleNamespace

import pytest
from django.core.management import call_command
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse

from annotations.core.errors import ServiceError
from annotations.domain.gold.splits import Split
from annotations.gold.services.splitting import split_version
from annotations.jobs.runner import run as work
from annotations.jobs.services.sweep import sweep
from annotations.models import Author, Document, GoldVersion, GoldVersionNote, Job, Span
from annotations.ops.services.erasing import delete_note, erase_patient
from annotations.scores.selectors import learned_notes
from models_runtime.backends import children
from models_runtime.backends.marginals import ABOVE
from models_runtime.core.combining import models_behind
from models_runtime.core.gold_notes import training_notes
from models_runtime.core.self_training import chosen_run, labels_of, notes_without_gold
from models_runtime.core.stages import learned_from
from models_runtime.models import Refinement, Run, TrainedModel
from models_runtime.runs.services.merging import review_together
from models_runtime.runs.services.runs import start_run
from models_runtime.runs.services.thresholds import Wanted
from models_runtime.training.services.training import end_early, start_training
from tests import factories as make
from tests.held import fresh
from tests.training.conftest import build_world, made_notes, train
from tests.worlds.programs import Program

pytestmark = pytest.mark.queue


def done(row):
    work(row.job_id)
    assert Job.objects.get(pk=row.job_id).state == Job.State.DONE, Job.objects.get(pk=row.job_id).error
    return row


def build_ward():
    """Eight notes without gold, one more with a gold note's text, and a run of a model at a threshold of 0.05."""
    world = build_world()
    for number, (text, _) in enumerate(made_notes(26)):
        if number >= 20:
            make.make_note(world.project, text + "Torna a casa.\n", f"nuovo-{number}", patient_id=f"n{number}")
    twin = make.make_note(world.project, world.project.documents.get(name="caso-03").text, "copia", patient_id="c")
    model, _job = train(world, key="teacher", iterations=40)
    at = {"project": world.project, "actor": world.manager}
    run = done(start_run(**at, backend=f"model:{model.pk}", wanted=Wanted(threshold=0.05), key="r"))
    return SimpleNamespace(
        world=world, project=world.project, model=model, run=run, name=run.author.name, twin=twin, at=at
    )


@pytest.fixture(scope="module")
def made_ward(once):
    return once(build_ward)


@pytest.fixture
def ward(db, no_redis, settings, made_ward):
    settings.JOB_LEASE_SECONDS = 3600
    return fresh(made_ward, build_ward)


@pytest.fixture
def trained(ward):
    return partial(train, ward.world)


def test_a_training_learns_from_the_sure_lines_of_notes_without_gold(ward, trained, client):
    model, job = trained(key="self", self_training=ward.name)
    assert (job.state, job.error, job.done) == (Job.State.DONE, "", job.total)
    own = model.card["self_training"]
    inside = set(ward.world.version.notes.values_list("document", flat=True))
    without = set(ward.project.documents.values_list("pk", flat=True)) - inside - {ward.twin.pk}
    assert own["documents"] and set(own["documents"]) <= without and own["read"] == len(without) == 8
    assert (own["run"], own["models"], own["weight"]) == (ward.name, [ward.model.name], 0.5)
    assert (model.card["notes"], model.card["held_out"]) == (16, 4), "they are no gold"
    plain, _ = trained(key="plain")
    assert plain.card["sha256"] != model.card["sha256"] and "self_training" not in plain.card
    again, _ = trained(key="again", self_training=ward.name)
    assert again.card["sha256"] == model.card["sha256"], "the same notes and the same run give the same file"

    assert learned_from(model) == learned_from(plain) | set(own["documents"])
    run = done(start_run(**ward.at, backend=f"model:{model.pk}", key="s"))
    assert learned_notes(run.author, own["documents"]) == len(own["documents"])
    assert learned_notes(run.author, [ward.twin.pk]) == 0

    client.force_login(ward.world.manager)
    page = client.get(reverse("model", args=["ward", model.pk])).content.decode()
    n = len(own["documents"])
    assert f"Also trained on {n} notes without gold, of 8 that were labeled" in page
    assert f"First round: labels of the run {ward.name} (models: {ward.model.name})." in page
    read = Program(ward.world.manager).get(f"/projects/ward/models/{model.pk}").json()
    assert (read["self_training"]["notes"], read["self_training"]["run"], read["erased_since"]) == (n, ward.name, False)
    delete_note(project=ward.project, note=own["documents"][0], actor=ward.world.manager)
    page = client.get(reverse("model", args=["ward", model.pk])).content.decode()
    assert "Notes from which this model learned were erased or deleted since." in page


def test_members_of_a_merged_list_must_agree(ward, trained):
    other, _ = trained(key="other", algorithm="ap")
    second = done(start_run(**ward.at, backend=f"model:{other.pk}", key="second"))
    merged = done(review_together(**ward.at, runs=[ward.name, second.author.name], key="m"))
    model, job = trained(key="agreed", self_training=merged.author.name, refit=True)
    assert job.state == Job.State.DONE, job.error
    assert set(model.card["self_training"]["models"]) == {ward.model.name, other.name}
    assert model.card["refit"]["notes"] == 20 and model.card["sha256"] != model.card["refit"]["held_out_sha256"]
    # As if only one of the two had suggested each span: they agree on no line with a span, only on others.
    lines = model.card["self_training"]["spans"]
    Span.objects.filter(annotation_set__author=merged.author).update(provenance={"runs": [], "agree": 1, "of": 2})
    alone = [found for *_, found in labels_of(merged, notes_without_gold(merged, [ward.world.version], {}))]
    assert lines and all(found is None or not found.spans for found in alone)


def test_a_span_above_a_threshold_only_is_not_agreed_on(ward):
    plain = done(start_run(**ward.at, backend=f"model:{ward.model.pk}", key="plain"))
    merged = done(review_together(**ward.at, runs=[ward.name, plain.author.name], key="m"))

    def sure():
        found = [one for *_, one in labels_of(merged, notes_without_gold(merged, [ward.world.version], {})) if one]
        return sum(len(one.spans) for one in found)

    assert sure()
    says = [{"run": name, "confidence": 0.06, "source": f"crf{ABOVE}0.05"} for name in ("a", "b")]
    Span.objects.filter(annotation_set__author=merged.author).update(provenance={"runs": says, "agree": 2, "of": 2})
    assert not sure()


def test_what_a_refined_member_learned_from_counts(ward):
    plain = done(start_run(**ward.at, backend=f"model:{ward.model.pk}", key="plain"))
    author = make.make_author(ward.project, kind=Author.Kind.REFINED, name="refined-1")
    for note in ward.project.documents.all():
        make.make_set(note, author, [], submitted=True)
    refinement = Refinement.objects.create(
        project=ward.project, source=ward.run.author, author=author, method=Refinement.Method.OFFLINE
    )
    merged = done(review_together(**ward.at, runs=["refined-1", plain.author.name], key="m"))
    Run.objects.filter(pk=plain.pk).update(model=None)
    assert [model.name for model in models_behind(merged)] == [ward.model.name]
    assert chosen_run(ward.project, merged.author.name, [ward.world.version], {}) == merged
    refinement.gold_version = ward.world.version
    refinement.save()
    with pytest.raises(ServiceError, match="“refined-1”, which is behind this run, learned from 4 notes"):
        chosen_run(ward.project, merged.author.name, [ward.world.version], {})


def test_notes_of_the_hold_out_and_of_tests_are_never_learned_from(ward, trained):
    split_version(
        version=ward.world.version, seed="s", shares={"train": 60, "dev": 20, "test": 20}, actor=ward.world.manager
    )
    with pytest.raises(ServiceError, match="that this training must not see before scoring"):
        start_training(**ward.at, gold=1, key="leaks", self_training=ward.name)
    model, _ = trained(key="split", iterations=40)
    run = done(start_run(**ward.at, backend=f"model:{model.pk}", wanted=Wanted(threshold=0.05), key="split"))
    learner, job = trained(key="ok", self_training=run.author.name)
    assert job.state == Job.State.DONE, job.error
    unseen = GoldVersionNote.objects.filter(version=ward.world.version).exclude(split=Split.TRAIN)
    assert not learned_from(learner).intersection(unseen.values_list("document_id", flat=True))


def test_notes_with_gold_later_notes_and_notes_of_held_out_patients_are_left_out(ward):
    note = Document.objects.get(name="nuovo-20")
    make.make_set(note, make.make_author(ward.project, kind="gold", name="gold"), [], submitted=True)
    found = notes_without_gold(ward.run, [ward.world.version], {})
    assert note.pk not in found and len(found) == 7
    assert notes_without_gold(ward.run, [ward.world.version], {}, found[0]) == found[:1]
    held_out = training_notes(ward.world.version).hold_out
    patient = Document.objects.get(pk=held_out[0]).patient_id
    Document.objects.filter(pk=found[0]).update(patient_id=patient)
    assert notes_without_gold(ward.run, [ward.world.version], {}) == found[1:], "the patient is held out"
    new = Document.objects.get(name="nuovo-21")
    other = make.make_note(ward.project, "Un testo.", "prova", patient_id=new.patient_id)
    version = GoldVersion.objects.create(project=ward.project, number=2, note_count=1, span_count=0)
    GoldVersionNote.objects.create(version=version, document=other, split=Split.TEST, spans=[])
    assert new.pk in found[1:]
    assert new.pk not in notes_without_gold(ward.run, [ward.world.version], {}), "the patient is for tests elsewhere"


def test_what_a_training_can_t_learn_from_is_refused(ward):
    def refused(**given):
        with pytest.raises(ServiceError) as caught:
            start_training(**ward.at, gold=1, key="refused", **given)
        assert caught.value.code == "self_training"
        return str(caught.value)

    plain = done(start_run(**ward.at, backend=f"model:{ward.model.pk}", key="plain"))
    assert f"There is no run “x”. Runs to learn from: {ward.name}." in refused(self_training="x")
    assert "doesn't show where it is unsure" in refused(self_training=plain.author.name)
    waiting = start_run(**ward.at, backend=f"model:{ward.model.pk}", wanted=Wanted(threshold=0.01), key="w")
    assert "is not finished" in refused(self_training=waiting.author.name)
    assert "spaCy can't learn from labels of a run" in refused(backend="spacy", self_training=ward.name)
    Run.objects.filter(pk=ward.run.pk).update(spans_without_label=3)
    assert "left 3 spans out, because this project has no label" in refused(self_training=ward.name)
    Run.objects.filter(pk=ward.run.pk).update(spans_without_label=0)
    Document.objects.filter(name__startswith="altro").delete()
    Document.objects.filter(name__startswith="nuovo").delete()
    assert "has annotated no note without gold" in refused(self_training=ward.name)


def test_a_run_that_was_deleted_or_is_sure_of_nothing_ends_the_training(ward):
    model = start_training(**ward.at, gold=1, key="unsure", iterations=8, self_training=ward.name)
    Span.objects.filter(annotation_set__author=ward.run.author).update(confidence=0.5)
    work(model.job_id)
    assert "is sure of no span in a note without gold" in Job.objects.get(pk=model.job_id).error
    model = start_training(**ward.at, gold=1, key="gone", iterations=8, self_training=ward.name)
    Run.objects.filter(pk=ward.run.pk).delete()
    work(model.job_id)
    assert "no longer exists. Start a new training with another run." in Job.objects.get(pk=model.job_id).error


def test_the_form_the_command_and_the_api_start_it(ward):
    client = Client()
    client.force_login(ward.world.manager)
    page = client.get(reverse("models", args=["ward"])).content.decode()
    assert f'<option value="{ward.name}">' in page and "Self-training: also learn from the labels of a run" in page
    data = {"gold": 1, "algorithm": "crf:ap", "self_training": ward.name, "token": "t", "language": "", "base": ""}
    assert client.post(reverse("model_train", args=["ward"]), data).status_code == 302
    wrong = client.post(reverse("model_train", args=["ward"]), data | {"self_training": "x", "token": "u"})
    assert wrong.status_code == 422 and "There is no run “x”." in wrong.content.decode()
    out = io.StringIO()
    call_command("train_model", "ward", gold=1, algorithm="ap", self_training=ward.name, json=True, stdout=out)
    assert json.loads(out.getvalue())["self_training"] is None, "it has not been trained yet"
    program = Program(ward.world.manager)
    assert program.get("/projects/ward/training-choices").json()["self_training"] == [ward.name]
    made = program.post("/projects/ward/models", {"gold": 1, "self_training": ward.name})
    assert made.status_code == 202
    told = program.post("/projects/ward/models", {"gold": 1, "self_training": "x"})
    assert told.status_code == 422 and "There is no run “x”." in told.content.decode()
    told = program.post("/projects/ward/models", {"gold": 1, "kind": "spacy", "self_training": ward.name})
    assert told.status_code == 422 and "spaCy can't learn from labels of a run" in told.content.decode()
    wanted = {"run": ward.run.pk, "name": ward.name}
    assert TrainedModel.objects.filter(params__self_training=wanted).count() == 3


def test_the_first_round_can_t_end_early(ward):
    options = {"backend": "bilstm", "algorithm": "quick", "iterations": 1, "self_training": ward.name}
    waiting = start_training(**ward.at, gold=1, key="early", **options)
    Job.objects.filter(pk=waiting.job_id).update(state=Job.State.RUNNING)
    with pytest.raises(ServiceError, match="The first round of self-training is not complete"):
        end_early(model=waiting)


class Killed(BaseException):
    """The end of a worker: nothing after it runs."""


def test_a_killed_self_training_gives_the_same_model_and_an_erasure_ends_it(ward, trained, monkeypatch):
    whole, _ = trained(key="whole", self_training=ward.name)
    for round_number in (1, 2):
        train, calls = children.train, []

        def killed(*words, calls=calls, train=train, number=round_number, **more):
            calls.append(more)
            if len(calls) == number:
                raise Killed
            return train(*words, **more)

        monkeypatch.setattr(children, "train", killed)
        key = f"killed-{round_number}"
        model = start_training(**ward.at, gold=1, key=key, iterations=8, self_training=ward.name)
        TrainedModel.objects.filter(pk=model.pk).update(losses=[0.5])  # of an earlier attempt, in its second round
        with pytest.raises(Killed):
            work(model.job_id)
        monkeypatch.undo()
        model.refresh_from_db()
        assert model.losses == []
        Job.objects.filter(pk=model.job_id).update(lease_until=Now() - timedelta(seconds=1))
        sweep()
        work(model.job_id)
        model.refresh_from_db()
        assert model.card["sha256"] == whole.card["sha256"]

    def erased(*words, **more):
        if Document.objects.filter(patient_id="n20").exists():
            erase_patient(project=ward.project, patient_id="n20", actor=ward.world.manager)
        return train(*words, **more)

    monkeypatch.setattr(children, "train", erased)
    model, job = trained(key="erased", self_training=ward.name)
    assert (job.state, model.stored_file) == (Job.State.FAILED, None) and "erased during this work" in job.error
    monkeypatch.undo()
    again, job = trained(key="after", self_training=ward.name)
    assert job.state == Job.State.DONE and again.card["self_training"]["read"] == 7
