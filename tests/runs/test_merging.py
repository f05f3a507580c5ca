"""Several runs reviewed together: one merged list, in which one act or undo decides conflicting suggestions."""

import uuid

import pytest

from annotations import models
from annotations.core.services import ServiceError
from annotations.jobs.runner import run as work
from annotations.jobs.services.queue import begin_undo
from annotations.review.events import REVIEW_DECIDED
from annotations.review.selectors.bulk_rules import BulkRule, preview
from annotations.review.selectors.decision_log import decisions
from annotations.review.selectors.planted import hints_of
from annotations.review.selectors.state import review_state
from annotations.review.services import deciding as review
from annotations.review.services import finishing as review_finishing
from annotations.review.services.bulk import at_once, begin_bulk, plan_bulk, run_bulk, undo_bulk
from annotations.review.services.deciding import Request
from annotations.review.services.log import Act
from models_runtime.runs.services.ensembles import MemberChoice, options_of, review_together, start_ensemble
from tests import factories as make

pytestmark = pytest.mark.django_db(transaction=True)

TEXT = "Mario Rossi, visto a Torino"
MARIO, ROSSI, WHOLE, TORINO = (0, 5), (6, 11), (0, 11), (21, 27)


class World:
    def __init__(self):
        self.project = make.make_project("ward")
        self.rita, self.rosa = (make.make_member(self.project, models.Role.REVIEWER, name) for name in ("rita", "rosa"))
        self.notes = [make.make_note(self.project, TEXT) for _ in range(3)]
        self.imported("a", (*WHOLE, "PATIENT"), (*TORINO, "CITY"), confidence=0.9)
        self.imported("b", (*WHOLE, "PATIENT"), (*TORINO, "HOSPITAL"), confidence=0.6)
        self.imported("c", (*MARIO, "PATIENT"), (*ROSSI, "DOCTOR"), notes=2)

    def imported(self, name, *spans, notes=3, confidence=None):
        author = make.make_author(self.project, kind="run", name=name)
        for note in self.notes[:notes]:
            annotation_set = make.make_set(note, author, spans, submitted=True)
            annotation_set.spans.update(confidence=confidence, source=f"of {name}")
        return author

    def merged(self, *names, key="k", **options):
        run = review_together(project=self.project, runs=names or ("a", "b", "c"), actor=self.rita, key=key, **options)
        if run.job.state == models.JobState.QUEUED:
            work(run.job_id)
            assert make.reread(run.job).state == models.JobState.DONE
        self.author = run.author
        return run

    def span(self, bounds, label, note=0):
        return models.Span.objects.get(
            annotation_set__author=self.author, annotation_set__document=self.notes[note],
            start=bounds[0], end=bounds[1], label=make.label_of(self.project, label),
        )  # fmt: skip

    def decide(self, act, span=None, user=None, **options):
        request = Request(change_id=uuid.uuid4(), act=act, suggestion=span and span.pk, **options)
        note = models.AnnotationSet.objects.get(pk=span.annotation_set_id).document if span else self.notes[0]
        return review.decide(document=note, author=self.author, user=user or self.rita, request=request)

    def states(self, note=0):
        names = {label.pk: label.code for label in self.project.label_set.labels.all()}
        found = review_state(document=self.notes[note], author=self.author)["suggestions"]
        return {(p["start"], p["end"], names[p["label"]]): p["state"] for p in found}

    def bulk(self, rule):
        return plan_bulk(project=self.project, user=self.rita, rule=rule, act=models.BulkAct.Act.ACCEPT)

    def check_strings(self):
        own = models.Span.objects.filter(annotation_set__author=self.author)
        for row in models.SuggestedString.objects.filter(author=self.author):
            spans = own.filter(string_key=row.string_key, label=row.label_id)
            assert (row.count, row.open) == (spans.count(), spans.filter(decision__isnull=True).count())


@pytest.fixture
def world():
    return World()


def test_one_list_of_what_all_runs_suggest(world):
    run = world.merged("c", "a", "b")
    assert (run.author.name, run.params["left_out"]) == ("together-1", 1), "not all runs annotated the third note"
    assert world.author.annotation_sets.count() == 2
    found = review_state(document=world.notes[0], author=world.author)["suggestions"]
    rows = [(p["start"], p["end"], len(p["runs"]), p["of"], p["confidence"], p["source"]) for p in found]
    assert rows == [
        (0, 5, 1, 3, 0.3333, "c"), (0, 11, 2, 3, 0.5, "a+b"), (6, 11, 1, 3, 0.3333, "c"),
        (21, 27, 1, 3, 0.3, "a"), (21, 27, 1, 3, 0.2, "b"),
    ]  # fmt: skip
    ids = [p["id"] for p in found]
    assert [sorted(ids.index(other) for other in p["conflicting"]) for p in found] == [[1], [0, 2], [1], [4], [3]]
    assert found[1]["runs"][1] == {"run": "b", "confidence": 0.6, "source": "of b"}
    hints = hints_of(world.notes[0], world.project.authors.get(name="a"))
    assert hints and "together-1" not in str(hints)


def test_attributes_of_all_runs_reach_the_list_and_gold(world):
    for name, given in (("a", {"Status": "past"}), ("b", {"Family": True, "Status": "current"})):
        models.Span.objects.filter(annotation_set__author__name=name, start=0, end=11).update(attributes=given)
    world.merged("a", "b")
    span = world.span(WHOLE, "PATIENT")
    shown = review_state(document=world.notes[0], author=world.author)["suggestions"][0]
    assert (shown["attributes"], shown["differing"]) == ({"Family": True, "Status": "past"}, ["Status"])
    world.decide(Act.ACCEPT, span)
    assert models.Span.objects.get(annotation_set__author__kind="gold").attributes == {"Family": True, "Status": "past"}


def test_a_suggestion_that_all_its_runs_doubt_is_doubtful_in_the_list(world):
    doubt = {"removed": [], "unsupported": [[6, 11]], "places": 2}
    models.Span.objects.filter(annotation_set__author__name__in=["a", "c"]).update(provenance=doubt)
    world.merged()
    found = review_state(document=world.notes[0], author=world.author)["suggestions"]
    assert [(p["start"], p["end"], p["source"], "doubt" in p) for p in found] == [
        (0, 5, "c", True), (0, 11, "a+b", False), (6, 11, "c", True), (21, 27, "a", True), (21, 27, "b", False)
    ]  # fmt: skip
    found = preview(BulkRule("threshold", [world.author.pk], least=0.0), "accept", world.project, world.rita)
    every = models.Span.objects.filter(annotation_set__author=world.author)
    assert found.doubtful == every.filter(source__in=["a", "c"]).count() > 2
    assert found.open == every.exclude(source__in=["a", "c"]).count() > 0


def test_leaks_are_planted_in_a_merged_list_as_it_is_stored(world, monkeypatch):
    monkeypatch.setattr("annotations.review.rules.planting.chance", lambda *about: 0.0)
    type(world.project).objects.update(planted_share=10)
    world.merged("a", "b")
    planted = models.PlantedLeak.objects.values_list("review__author", "suggestion__start", "suggestion__end", "known")
    assert list(planted) == [(world.author.pk, *WHOLE, "runs")] * 3, "the city overlaps the same with another label"
    assert set(world.states()) == {(*TORINO, "CITY"), (*TORINO, "HOSPITAL")}


def test_the_same_runs_give_the_same_list_until_they_annotate_more_notes(world):
    first = world.merged()
    assert review_together(project=world.project, runs=["c", "b", "a"], actor=None, key="other").pk == first.pk
    make.make_set(world.notes[2], world.project.authors.get(name="c"), [], submitted=True)
    second = world.merged(key="more")
    assert (second.author.name, second.author.annotation_sets.count()) == ("together-2", 3)


def test_invalid_merges(world):
    list_name = world.merged().author.name
    for names, message in (
        (["a"], "Choose 2 to 20"), (["a", "a"], "duplicates of: a"), (["a", "nobody"], "no run “nobody”"),
        (["a", list_name], "“together-1” is a merged list"),
    ):  # fmt: skip
        with pytest.raises(ServiceError, match=message):
            review_together(project=world.project, runs=names, actor=None, key="x")
    assert f"run:{list_name}" not in [option.spec for option in options_of(world.project)]
    with pytest.raises(ServiceError, match="merged list"):
        asked = [MemberChoice(f"run:{list_name}"), MemberChoice("run:a")]
        start_ensemble(project=world.project, members=asked, method="union", actor=None, key="y")
    # A merged list does not count as an agreeing run.
    with pytest.raises(ServiceError, match="No open suggestion matches"):
        world.bulk(BulkRule("agreed", [a.pk for a in world.project.authors.filter(kind="run")], agree=3))
    with pytest.raises(ServiceError, match="already exists"):
        review_together(project=world.project, runs=["a", "b"], actor=None, name=list_name, key="z")


def test_one_act_decides_conflicting_suggestions_and_one_undo_reopens_them(world):
    world.merged()
    state = world.decide(Act.ACCEPT, world.span(WHOLE, "PATIENT"))
    assert state["open"] == 2, "both names of the third run were rejected; the city still has two labels"
    assert world.states()[*MARIO, "PATIENT"] == world.states()[*ROSSI, "DOCTOR"] == "rejected"
    gold = models.Span.objects.get(annotation_set__author__kind="gold")
    assert [one["run"] for one in gold.provenance["runs"]] == ["a", "b"]
    assert (gold.provenance["from"], gold.provenance["of"]) == ("run:together-1", 3)
    assert gold.provenance["runs"][0]["confidence"] == 0.9
    rows = list(decisions(world.project))
    assert [(row["act"], row["after"]) for row in rows] == [
        ("accept", "accepted"), ("beside", "rejected"), ("beside", "rejected")
    ]  # fmt: skip
    assert len({row["event"] for row in rows}) == 1 and rows[1]["suggested_start"] is not None
    world.check_strings()
    world.decide(Act.UNDO)
    assert set(world.states().values()) == {"open"} and not models.Decision.objects.exists()
    assert [row["after"] for row in decisions(world.project)][3:] == ["open"] * 3
    world.decide(Act.REDO)
    assert list(world.states().values()).count("rejected") == 2
    world.check_strings()


def test_finishing_does_not_accept_conflicting_suggestions(world):
    world.merged()
    note = {"document": world.notes[0], "author": world.author, "user": world.rita}
    rest = set(models.Span.objects.filter(annotation_set__author=world.author).values_list("pk", flat=True))
    with pytest.raises(ServiceError, match="Choose one of them"):
        review_finishing.finish_review(**note, rest=rest)
    assert not models.Decision.objects.exists()
    world.decide(Act.ACCEPT, world.span(WHOLE, "PATIENT"))
    world.decide(Act.REJECT, world.span(TORINO, "HOSPITAL"))
    assert review_finishing.finish_review(**note, rest=rest).finished_at is not None
    assert world.states()[*TORINO, "CITY"] == "accepted"


def test_a_correction_leaves_suggestions_open_that_no_longer_conflict(world):
    world.merged()
    patient = make.label_of(world.project, "PATIENT").pk
    world.decide(Act.CORRECT, world.span(WHOLE, "PATIENT"), bounds=(0, 5, patient), quote="Mario")
    assert world.states() == {
        (*MARIO, "PATIENT"): "accepted", (*WHOLE, "PATIENT"): "accepted", (*ROSSI, "DOCTOR"): "open",
        (*TORINO, "CITY"): "open", (*TORINO, "HOSPITAL"): "open",
    }  # fmt: skip


def test_a_conflicting_suggestion_that_was_decided_stays(world):
    world.merged()
    world.decide(Act.ACCEPT, world.span(ROSSI, "DOCTOR"), user=world.rosa)
    assert world.states()[*WHOLE, "PATIENT"] == "rejected"
    world.decide(Act.ACCEPT, world.span(WHOLE, "PATIENT"))
    assert world.states()[*ROSSI, "DOCTOR"] == "accepted", "a person may accept both"
    with pytest.raises(ServiceError, match="Later decisions"):
        world.decide(Act.UNDO, user=world.rosa)


def test_what_two_agree_on_is_one_bulk_act(world):
    world.merged()
    bulk = world.bulk(BulkRule("merged", [world.author.pk], agree=2))
    assert bulk.planned == 2 and begin_bulk(bulk=bulk, user=world.rita)
    counts = at_once(bulk, run_bulk)
    assert (counts["decided"], counts["beside"], counts["left"]) == (2, 4, 0)
    assert models.Event.objects.filter(verb=REVIEW_DECIDED).count() == 2
    assert list(world.states().values()).count("open") == 2
    world.check_strings()
    gold = models.Span.objects.filter(annotation_set__author__kind="gold")
    assert [len(span.provenance["runs"]) for span in gold] == [2, 2]
    world.decide(Act.ACCEPT, world.span(MARIO, "PATIENT"), user=world.rosa)  # a person overrides the bulk act
    assert begin_undo(bulk)
    counts = at_once(bulk, undo_bulk)
    assert (counts["undone"], counts["kept"]) == (5, 1)
    assert world.states()[*MARIO, "PATIENT"] == "accepted" and world.states(1)[*WHOLE, "PATIENT"] == "open"
    world.check_strings()


def test_a_bulk_act_accepts_the_suggestion_that_most_runs_agree_on(world):
    world.merged()
    bulk = world.bulk(BulkRule("threshold", [world.author.pk], least=0.0))
    begin_bulk(bulk=bulk, user=world.rita)
    counts = at_once(bulk, run_bulk)
    assert (counts["decided"], counts["beside"], bulk.planned) == (10, 0, 10)
    assert world.states() == {
        (*MARIO, "PATIENT"): "rejected", (*WHOLE, "PATIENT"): "accepted", (*ROSSI, "DOCTOR"): "rejected",
        (*TORINO, "CITY"): "accepted", (*TORINO, "HOSPITAL"): "rejected",
    }  # fmt: skip
    with pytest.raises(ServiceError, match="No open suggestion matches"):
        world.bulk(BulkRule("merged", [world.author.pk], agree=1))
