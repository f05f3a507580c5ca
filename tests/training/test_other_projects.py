"""Training on gold versions of several projects: rights, labels, hold-outs, erasures, deletion."""

import pytest
from django.core.management.base import CommandError
from django.urls import reverse

from annotations.core.services import ServiceError
from annotations.gold.services.making import freeze
from annotations.gold.services.splitting import split_version
from annotations.jobs.runner import run as work
from annotations.models import Document, Event, GoldVersion, GoldVersionNote, Job, Label, LabelSet, Membership, Project
from annotations.ops.services.deleting import delete_project
from annotations.ops.services.erasing import erase_patient
from annotations.projects.services.projects import archive_project, restore_project
from models_runtime.core.gold_sources import gold_sources, models_elsewhere, training_notes
from models_runtime.core.stages import learned_from, strategy_of
from models_runtime.models import TrainedModel
from models_runtime.training.jobs import training
from models_runtime.training.jobs.kept_models import checkpoint_of
from models_runtime.training.services.training import start_training
from tests import factories as make
from tests.held import made_once
from tests.training.conftest import build_world, made_notes, page
from tests.worlds.checks import check_page
from tests.worlds.commands import told
from tests.worlds.queue import worked


def clinic_of(manager, slug="clinic", count=12):
    """Another project with gold in English, of six patients."""
    project = make.make_project(slug, language="en")
    make.make_member(project, "manager", manager)
    for number, (text, spans) in enumerate(made_notes(count)):
        text = text.replace("Dolore toracico", "Chest pains, ok")
        note = make.make_note(project, text, f"case-{number:02}", patient_id=f"p{number // 2}", language="en")
        make.make_set(note, "gold", spans)
    return project, freeze(project=project, actor=None)[0]


def build_both():
    """The ward with Italian notes, and a clinic with English notes that the ward's manager manages too."""
    world = build_world()
    world.clinic, world.theirs = clinic_of(world.manager)
    return world


made_gold, both = made_once(build_both, "long_lease", name="made_gold")


@pytest.fixture
def train(both):
    def go(key="k", **options):
        return worked(wanted(both, key, **options))

    return go


def page_of(client, model):
    return check_page(client.get(page("model", model.pk)))


def wanted(both, key, **options):
    """A training on both projects that has not begun."""
    options = {"gold": 1, "algorithm": "ap", "iterations": 2, "also": ["clinic:1"], **options}
    return start_training(project=both.project, actor=both.manager, key=key, **options)


def test_the_form_trains_on_both_projects_and_the_card_names_them(both, client):
    client.force_login(both.manager)
    form = check_page(client.get(page("models")))
    assert 'value="clinic:1"' in form and '<option value="en"' in form
    sent = {"gold": 1, "algorithm": "crf:ap", "iterations": 3, "also": ["clinic:1"], "name": "Both"}
    answer = client.post(page("model_train"), sent)
    model = TrainedModel.objects.get()
    assert answer.status_code == 302 and model.params["also"] == [both.theirs.pk]
    worked(model)
    own, other = training_notes(both.version), training_notes(both.theirs)
    assert model.state == "ready" and own.hold_out and other.hold_out
    assert model.card["notes"] == len(own.train) + len(other.train)
    assert model.card["held_out_notes"] == [*own.hold_out, *other.hold_out]
    assert model.card["also"] == [
        {
            "project": both.clinic.pk, "gold": 1, "gold_hash": both.theirs.content_hash, "notes": len(other.train),
            "spans": 4 * len(other.train), "held_out": len(other.hold_out), "left_out": 0, "no_label": 0, "erased": 0,
        }
    ]  # fmt: skip
    assert model.card["scores"]["notes"] == len(own.hold_out) + len(other.hold_out)
    assert strategy_of(model) == "MIX" and model.card["languages"] == ["en", "it"]
    shown = page_of(client, model)
    assert both.theirs.content_hash[:12] in shown and 'href="/projects/clinic/' in shown
    # The project of which somebody is not a member stays unknown to them.
    client.force_login(both.viewer)
    shown = page_of(client, model)
    assert both.theirs.content_hash[:12] in shown and "clinic" not in shown.lower()
    # The clinic's log says that its gold was used.
    event = Event.objects.get(verb="gold.lent")
    assert (event.project_id, event.data) == (both.clinic.pk, {"gold": 1, "borrower": both.project.pk})
    client.force_login(both.manager)
    check_page(client.get(reverse("audit", args=["clinic"])))


def test_the_person_must_manage_the_other_project(both, client):
    clinic_of("somebody", "closed", 2)
    read, _ = clinic_of("else", "read", 2)
    make.make_member(read, "reviewer", both.manager)
    old, _ = clinic_of(both.manager, "old", 2)
    archive_project(project=old, actor=None)
    client.force_login(both.manager)
    form = client.get(page("models")).content.decode()
    assert [slug for slug in ("clinic", "closed", "read", "old") if f'value="{slug}:1"' in form] == ["clinic"]
    answer = client.post(page("model_train"), {"gold": 1, "algorithm": "crf:ap", "also": ["clinic"]})
    assert answer.context["train"].errors.keys() == {"also"}
    for words, why in (
        (["clinic:x"], "as PROJECT:NUMBER"),
        (["nowhere:1"], "no other project “nowhere” that you manage"),
        (["closed:1"], "no other project “closed” that you manage"),
        (["read:1"], "no other project “read” that you manage"),
        (["ward:1"], "one gold version of each project, so “ward:1”"),
        (["clinic:1", "clinic:2"], "one gold version of each project"),
        (["clinic:7"], "The project “clinic” has no gold version 7. Frozen versions: 1"),
        (["old:1"], "The project “old” is archived"),
    ):
        with pytest.raises(ServiceError, match=why):
            wanted(both, "k", also=words)
    make.make_member(both.project, "manager", "one")
    words = ("train_model", "ward", "--gold", "1", "--also", "clinic:1")
    with pytest.raises(CommandError, match="no other project “clinic” that you manage"):
        told(*words, "--by", "one")
    assert not TrainedModel.objects.exists() and not Event.objects.filter(verb="gold.lent").exists()
    told(*words)
    assert TrainedModel.objects.get().params["also"] == [both.theirs.pk]


def test_labels_are_the_same_or_mapped_totally(both, train):
    sets = LabelSet.objects
    Label.objects.create(
        label_set=both.clinic.label_set, category=both.clinic.label_set.categories.first(), code="MOON", name="Moon",
        placeholder="[M]", position=90,
    )  # fmt: skip
    with pytest.raises(ServiceError, match="labels of “clinic” have no counterpart in this project: MOON"):
        train()
    Label.objects.filter(code="MOON").delete()
    sets.filter(project=both.clinic).update(key="i2b2-2014")
    with pytest.raises(ServiceError, match=r"\(i2b2-2014\) can't be mapped to those of this project \(test\)"):
        train("b")
    # A mapping into a set that has no counterpart for some labels: their spans count as unmarked, and the card says so.
    sets.filter(project=both.project).update(key="it-4")
    both.project = Project.objects.get(pk=both.project.pk)
    own = Label.objects.filter(label_set__project=both.project)
    for code, new in (("PATIENT", "NOME"), ("DATE", "DATA"), ("CITY", "LUOGO_INDIRIZZO")):
        own.filter(code=code).update(code=new)
    with pytest.raises(ServiceError, match="no counterpart in this project: AGE"):
        train("c")
    own.filter(code="AGE").update(code="ETA")
    Label.objects.filter(label_set__project=both.clinic, code="CITY").update(code="PROFESSION")
    notes = GoldVersionNote.objects.filter(version=both.theirs)
    for note in notes:
        note.spans = [[start, end, code.replace("CITY", "PROFESSION"), made] for start, end, code, made in note.spans]
        note.save()
    (_, source) = gold_sources(both.project, [both.version, GoldVersion.objects.get(pk=both.theirs.pk)])
    (_, spans) = next(source.read(source.notes.train))
    assert [span.label for span in spans] == ["NOME", "DATA", "NOME"]
    assert source.without_label() == len(source.notes.train)
    notes.filter(document=source.notes.train[0]).update(spans=[[0, 3, "GONE", None]])
    with pytest.raises(ServiceError, match="labels that its label set lacks: GONE"):
        list(source.read(source.notes.train))


def test_a_text_that_one_version_holds_out_is_not_learned_from_another(both, train):
    held_out = Document.objects.get(pk=training_notes(both.version).hold_out[0])
    theirs = training_notes(both.theirs)
    copy = Document.objects.get(pk=theirs.train[0])
    learned = Document.objects.get(pk=training_notes(both.version).train[0])
    Document.objects.filter(pk=copy.pk).update(text=held_out.text, sha256=held_out.sha256)
    other = Document.objects.get(pk=theirs.hold_out[0])
    Document.objects.filter(pk=other.pk).update(text=learned.text, sha256=learned.sha256)
    own, clinic = gold_sources(both.project, [both.version, both.theirs])
    assert (own.left_out, clinic.left_out) == (1, 1)
    assert learned.pk not in own.notes.train and copy.pk not in clinic.notes.train
    model = train()
    assert model.card["also"][0]["left_out"] == 1
    # The ward's note that has the text of a note that the model learned from counts as learned.
    last = Document.objects.get(pk=training_notes(both.version).train[-1])
    other_copy = Document.objects.get(pk=theirs.train[-1])
    Document.objects.filter(pk=last.pk).update(sha256=other_copy.sha256)
    assert {last.pk, *theirs.train} <= learned_from(model) and held_out.pk not in learned_from(model)


def test_all_strategies_hold_out_the_same_notes(both, train, client):
    """EN, IT, MIX and EN→IT are views of one split of each version, so that no strategy has seen another's hold-out."""
    split_version(version=both.version, seed="s", shares={"train": 60, "dev": 20, "test": 20}, actor=None)
    models = {
        "EN": train("a", language="en", name="en"), "IT": train("b", language="it", name="it"),
        "MIX": train("c", name="mix"), "EN→IT": train("d", language="it", base="en", name="en-it"),
    }  # fmt: skip
    assert {name: strategy_of(model) for name, model in models.items()} == {name: name for name in models}
    held_out = {name: model.card["held_out_notes"] for name, model in models.items()}
    other = training_notes(both.theirs)
    assert (models["EN"].card["notes"], held_out["EN"]) == (len(other.train), other.hold_out)
    assert held_out["IT"] == held_out["EN→IT"] and held_out["EN"]
    assert sorted(held_out["MIX"]) == sorted(held_out["EN"] + held_out["IT"])
    tested = set(GoldVersionNote.objects.filter(split="test").values_list("document_id", flat=True))
    unseen = tested.union(*held_out.values())
    assert tested and not [name for name, model in models.items() if learned_from(model) & unseen]
    assert models["EN→IT"].card["notes"] == models["IT"].card["notes"]
    client.force_login(both.manager)
    assert "notes in it only" in page_of(client, models["IT"])
    # A model that learned from what another version of the same project holds out can't be the first stage.
    split_version(version=both.version, seed="other", shares={"train": 60, "dev": 40, "test": 0}, actor=None)
    with pytest.raises(ServiceError, match="“it” learned from"):
        train("e", language="it", base="it")
    with pytest.raises(ServiceError, match=r"has no notes in “de”\. Its languages: en, it"):
        train("f", language="de")


@pytest.mark.django_db(transaction=True)
def test_an_erasure_in_the_other_project_and_its_deletion_reach_the_model(both, train, client):
    def elsewhere(*words):
        return [one["model"] for one in told(*words, "--preview")["models_elsewhere"]]

    def waiting_with_checkpoint(key):
        model = wanted(both, key)
        checkpoint_of(model.pk).write_text("weights that know a name")
        return model

    client.force_login(both.manager)
    model = train(name="both")
    later = train("s", name="later", also=[], base="both")
    patients = reverse("patients", args=["clinic"])
    before = check_page(client.post(patients, {"do": "preview", "patient_id": "p0"}))
    assert "2 trained models are kept and may contain words" in before and ">both</a>" in before
    assert "were erased or deleted since" not in page_of(client, model)
    waiting = waiting_with_checkpoint("w")
    erased = check_page(client.post(patients, {"do": "erase", "patient_id": "p0", "again": "p0"}))
    assert "2 notes were erased" in erased and ">later</a>" in erased and not checkpoint_of(waiting.pk).exists()
    inside = {"embeddings": [{"name": "both", "model": model.pk}]}
    stack = TrainedModel.objects.create(project=both.project, name="stack", params=inside)
    assert [one.name for one in models_elsewhere(both.clinic)] == ["both", "later", waiting.name, "stack"]
    for one in (model, later):
        assert "were erased or deleted since" in page_of(client, one)
    # A manager of the clinic who is not a member of the ward learns that there are models, but not where.
    client.force_login(make.make_member(both.clinic, "manager", "cleo"))
    shown = check_page(client.post(patients, {"do": "preview", "patient_id": "p1"}))
    assert "2 of them are in projects of which you are not a member" in shown and "ward" not in shown.lower()
    assert elsewhere("erase_patient", "clinic", "p1") == ["both", "later"]
    client.force_login(both.manager)
    stack.delete()
    archive_project(project=both.clinic, actor=None)
    shown = check_page(client.get(reverse("project_delete", args=["clinic"])))
    assert "2 models of other projects learned" in shown and ">both</a>" in shown
    assert elsewhere("delete_project", "clinic") == ["both", "later"]
    restore_project(project=both.clinic, actor=None)
    # Without weights, nothing is left to retire.
    TrainedModel.objects.update(stored_file=None)
    assert "trained model" not in check_page(client.post(patients, {"do": "preview", "patient_id": "p1"}))
    for one in (model, later):
        one.save(update_fields=["stored_file"])
    waiting = waiting_with_checkpoint("x")
    archive_project(project=both.clinic, actor=None)
    delete_project(project=Project.objects.get(slug="clinic"), name=both.clinic.name, actor=None, seconds=None)
    assert not checkpoint_of(waiting.pk).exists()
    shown = page_of(client, model)
    assert "gold version 1 of another project" in shown and "were erased or deleted since" in shown
    assert strategy_of(model) == "MIX"
    work(waiting.job_id)
    assert "it was deleted, or you no longer manage that project" in Job.objects.get(pk=waiting.job_id).error


def test_a_training_stores_nothing_when_the_other_project_loses_a_note_meanwhile(both, train, monkeypatch):
    original = training.hold_out_scores

    def erased(*given, **named):
        erase_patient(project=both.clinic, patient_id="p0", actor=None)
        return original(*given, **named)

    monkeypatch.setattr(training, "hold_out_scores", erased)
    model = train()
    assert (model.state, model.stored_file) == ("failed", None)
    assert "were erased during this work" in Job.objects.get(pk=model.job_id).error


def test_the_worker_checks_the_right_again_and_reads_an_archived_project(both):
    first, second = (wanted(both, key) for key in "ab")
    archive_project(project=both.clinic, actor=None)
    worked(first)
    assert first.state == "ready"
    restore_project(project=both.clinic, actor=None)
    Membership.objects.filter(project=both.clinic).update(role="viewer")
    work(second.job_id)
    assert "you no longer manage that project" in Job.objects.get(pk=second.job_id).error
