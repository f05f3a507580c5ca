"""Refinements by the offline agent, of a run and of injected errors; reasons that name an erased patient."""

import pytest

from annotations.jobs.runner import run as work
from annotations.models import AnnotationSet, Author, AuthorKind, Event, Job, Span
from annotations.ops.selectors.free_texts import free_texts
from annotations.ops.services.erasing import erase_patient
from models_runtime.models import RefinedItem, Refinement
from models_runtime.refining.jobs import refining
from models_runtime.refining.services.refining import start_refinement
from tests import factories as make
from tests.refining.conftest import inject, note_of, refine, score_of, spans_of

pytestmark = pytest.mark.django_db


def test_a_run_that_marks_too_much(ward):
    before = spans_of("wide")
    found = refine("wide", actor=ward.mia)
    assert (found["author"], found["notes"]) == ("wide-offline-1", 40)
    assert (found["kept"], found["updated"], found["removed"]) == (200, 0, 160)
    assert spans_of("wide-offline-1") == spans_of("gold") and spans_of("wide") == before
    author = Author.objects.get(name="wide-offline-1")
    assert author.kind == AuthorKind.REFINED
    # Each annotation has its row, with the decision and a reason; a suggestion tells what became of it.
    rows = RefinedItem.objects.filter(refinement__author=author)
    assert rows.count() == 360 and not rows.filter(action="").exists() and not rows.filter(reason="").exists()
    span = Span.objects.filter(annotation_set__author=author).first()
    assert span.provenance["refined"]["action"] == "keep" and span.provenance["refined"]["reason"]
    event = Event.objects.get(verb="refinement.started")
    assert (event.actor, event.data["method"]) == (ward.mia, "offline")
    erase_patient(project=ward.project, patient_id="p3", actor=ward.mia)
    assert not RefinedItem.objects.filter(document__name="caso-3").exists()
    assert AnnotationSet.objects.filter(author=author).count() == 39


def test_a_token_too_many_is_cut_off_and_a_missing_one_added(ward):
    for number, note in enumerate(ward.notes):
        _text, spans = note_of(number)
        moved = {label: [start, end] for start, end, label in spans}
        moved["PATIENT"][1] = note.text.rindex(" ", *moved["PATIENT"])
        moved["CITY"][1] += len(" il")
        moved["DOCTOR"][0] -= len("dott. ")
        make.make_set(note, "run:loose", [(*bounds, label) for label, bounds in moved.items()])
    found = refine("loose")
    assert (found["kept"], found["updated"], found["removed"]) == (80, 120, 0)
    assert spans_of(found["author"]) == spans_of("gold")
    reasons = RefinedItem.objects.filter(refinement__author__name=found["author"], action="update")
    begun, ended = (reasons.filter(reason__contains=f"such text {side} elsewhere") for side in ("begins", "ends"))
    assert (begun.count(), ended.count()) == (40, 80)


def test_injected_errors_are_caught(ward):
    run = inject(rate=0.3)
    refined = refine(run.author.name)["author"]
    assert Author.objects.get(name=refined).kind == AuthorKind.BENCH
    score = score_of(run, refined)
    assert score["injected"] == 60 and score["share"] > 0.95 and score["collateral_share"] < 0.01 and score["lost"] == 0


@pytest.fixture
def learned(monkeypatch):
    """The texts that each model learned from, in order. An agent that keeps everything takes the place of the real one.

    It fails if the model of a note learned from that note.
    """
    found = []

    class Agent:
        def __init__(self, label_set):
            pass

        def examples(self, text, gold):
            return text

        def learn(self, notes):
            found.append(set(notes))
            return found[-1]

        def refine(self, todo, model):
            assert model and todo.text not in model
            for item in todo.items:
                todo = todo.keep(item.number, "kept")
            return todo

    loaded = refining.load
    monkeypatch.setattr(refining, "load", lambda path: Agent if path.endswith(".OfflineAgent") else loaded(path))
    return found


def test_gold_of_the_patient_has_no_part_in_the_decision(ward, learned):
    """The model of a note never learned from a note of the same patient."""
    assert refine("wide")["kept"] == 360
    assert len(learned) == refining.FOLDS and set.union(*learned) == {note.text for note in ward.notes}


@pytest.mark.parametrize(("patients", "few"), [(0, True), (3, True), (8, True), (9, False)])
def test_few_patients_need_one_model(ward, learned, patients, few):
    """A run of no more than a fifth of the patients has one model, which learned from none of them.

    Each of these patients has another note, without gold, and somebody has a note but no gold at all.
    """
    owned = [note.patient_id for note in ward.notes[:patients]]
    notes = [
        make.make_note(ward.project, f"Anna {number} sta bene.", f"altro-{number}", patient_id=patient_id)
        for number, patient_id in enumerate([*owned, "new"])
    ]
    for note in notes:
        make.make_set(note, "run:some", [(0, 4, "PATIENT")])
    assert refine("some")["kept"] == patients + 1
    if few:
        assert learned == [{note.text for note in ward.notes[patients:]}]
    else:
        groups = {refining.fold_of(patient_id, "") for patient_id in owned}
        assert len(learned) == len(groups) + 1


def test_a_worker_that_takes_over_continues(ward, monkeypatch):
    row = start_refinement(project=ward.project, source="wide", method="offline", actor=ward.mia, key="k")
    again = start_refinement(project=ward.project, source="wide", method="offline", actor=ward.mia, key="k")
    assert again.pk == row.pk and Job.objects.count() == 1
    monkeypatch.setattr("models_runtime.refining.jobs.refining.BATCH", 15)
    refine, asked = refining.FoldModels.refine, []

    def counted(self, todo, patient_id, name):
        asked.append(name)
        if len(asked) == 20:
            raise KeyboardInterrupt
        return refine(self, todo, patient_id, name)

    monkeypatch.setattr(refining.FoldModels, "refine", counted)
    with pytest.raises(KeyboardInterrupt):
        work(row.job_id)
    assert AnnotationSet.objects.filter(author=row.author).count() == 15
    Job.objects.update(state="queued", lease_until=None)
    work(row.job_id)
    job = Job.objects.get()
    assert (job.state, job.result["removed"], job.result["notes"]) == ("done", 160, 40) and len(asked) == 20 + 25


@pytest.mark.parametrize("gold", ["few spans", "none"])
def test_without_enough_gold_the_validators_decide(ward, gold):
    """Only the rules tell what a rose-colored urine, a blood pressure, a disease and a ward are."""
    if gold == "none":
        ward.version.delete()
    else:
        ward.version.notes.filter(document__in=ward.notes[9:]).delete()
    found = refine("wide")
    assert (found["kept"], found["updated"], found["removed"]) == (200, 0, 160)
    assert spans_of(found["author"]) == spans_of("gold")


def test_a_refinement_by_clients_is_started_once(ward):
    """A repeated start with the same key returns the same refinement. A key belongs to its project."""

    def start(key, source="wide", project=ward.project):
        return start_refinement(project=project, source=source, method="external", actor=ward.mia, key=key)

    first = start("k")
    assert start("k").pk == first.pk and start("l").author.name == "wide-external-2"
    assert Event.objects.filter(verb="refinement.started").count() == 2 and not Job.objects.exists()
    other = make.make_project("other")
    make.make_set(make.make_note(other, "Anna sta bene."), "run:rules-1", [(0, 4, "PATIENT")], submitted=True)
    assert start("k", "rules-1", other).project_id == other.pk
    # As with a job, the key alone decides.
    assert start_refinement(project=ward.project, source="wide", method="offline", actor=ward.mia, key="k") == first


# ── Erasing a patient empties the reasons on other notes that name the patient ────────────────────────────────────────
NAMED = ["The same woman as Rossi.", "See P-778812.", "The sister of mario rossi"]
OTHERS = ["A city, not a name.", "of an eponym: the rossini"]


def test_reasons_that_name_an_erased_patient_are_emptied():
    project = make.make_project("clinic")
    refined = make.make_author(project, kind="refined", name="refined-1")
    row = Refinement.objects.create(
        project=project, source=make.make_author(project, kind="run", name="r"), author=refined, method="offline"
    )
    make.make_set(make.make_note(project, patient_id="P-778812"), row.source, [(0, 11, "PATIENT")])  # Mario Rossi
    note = make.make_note(project, patient_id="P-2")
    made = make.make_set(note, refined, [(at, at + 2, "AGE") for at in range(len(NAMED + OTHERS))])
    for number, (span, reason) in enumerate(zip(made.spans.order_by("start"), NAMED + OTHERS, strict=True)):
        Span.objects.filter(pk=span.pk).update(provenance={"refined": {"action": "keep", "was": [], "reason": reason}})
        about = {"number": number, "start": 0, "end": 2, "label": "AGE", "reason": reason}
        RefinedItem.objects.create(refinement=row, document=note, **about)
    erase_patient(project=project, patient_id="P-778812", actor=None)
    left = [""] * len(NAMED) + OTHERS
    assert list(RefinedItem.objects.order_by("number").values_list("reason", flat=True)) == left
    spans = made.spans.order_by("start").values_list("provenance", flat=True)
    assert [one["refined"]["reason"] for one in spans] == left
    listed = {text.what: text.count for text in free_texts(project)}
    assert listed["Reasons of refiners for their decisions"] == len(OTHERS)
