"""Several runs reviewed together: one list that knows its runs, rivals settled in one act, one undo."""

import json
import uuid
from io import StringIO

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

from annotations.core.errors import ServiceError
from annotations.jobs.runner import run as work
from annotations.models import AnnotationSet, BulkAct, Decision, Event, Job, ProposedString, Role, Span, Verb
from annotations.review.selectors.bulk_rules import Rule
from annotations.review.selectors.decision_log import decisions
from annotations.review.selectors.misses import hints_of
from annotations.review.selectors.state import review_state
from annotations.review.services import closing as review_closing
from annotations.review.services import deciding as review
from annotations.review.services.bulk import at_once, begin_bulk, begin_undo, plan_bulk, run_bulk, undo_bulk
from annotations.review.services.deciding import Request
from annotations.review.services.log import Act
from models_runtime.models import Run
from models_runtime.runs.services.ensembles import Asked, options_of, start_ensemble
from models_runtime.runs.services.merging import review_together
from tests import factories as make

pytestmark = [pytest.mark.queue, pytest.mark.django_db(transaction=True)]
TEXT = "Mario Rossi, visto a Torino"
MARIO, ROSSI, WHOLE, TORINO = (0, 5), (6, 11), (0, 11), (21, 27)


class World:
    def __init__(self):
        self.project = make.make_project("ward")
        self.rita, self.rosa = (make.make_member(self.project, Role.REVIEWER, name) for name in ("rita", "rosa"))
        self.notes = [make.make_note(self.project, TEXT) for _ in range(3)]
        self.imported("a", (*WHOLE, "PATIENT"), (*TORINO, "CITY"), confidence=0.9)
        self.imported("b", (*WHOLE, "PATIENT"), (*TORINO, "HOSPITAL"), confidence=0.6)
        self.imported("c", (*MARIO, "PATIENT"), (*ROSSI, "DOCTOR"), notes=2)

    def imported(self, name, *spans, notes=3, confidence=None):
        author = make.make_author(self.project, kind="run", name=name)
        for note in self.notes[:notes]:
            reading = make.make_set(note, author, spans, submitted=True)
            reading.spans.update(confidence=confidence, source=f"of {name}")
        return author

    def merged(self, *names, key="k", **options):
        run = review_together(project=self.project, runs=names or ("a", "b", "c"), actor=self.rita, key=key, **options)
        if run.job.state == Job.State.QUEUED:
            work(run.job_id)
            run.job.refresh_from_db()
            assert run.job.state == Job.State.DONE
        self.author = run.author
        return run

    def span(self, place, label, note=0):
        return Span.objects.get(
            annotation_set__author=self.author, annotation_set__document=self.notes[note], start=place[0], end=place[1],
            label=make.label_of(self.project, label),
        )  # fmt: skip

    def decide(self, act, span=None, user=None, **options):
        request = Request(change_id=uuid.uuid4(), act=act, proposal=span and span.pk, **options)
        note = AnnotationSet.objects.get(pk=span.annotation_set_id).document if span else self.notes[0]
        return review.decide(document=note, author=self.author, user=user or self.rita, request=request)

    def states(self, note=0):
        names = {label.pk: label.code for label in self.project.label_set.labels.all()}
        found = review_state(document=self.notes[note], author=self.author)["proposals"]
        return {(p["start"], p["end"], names[p["label"]]): p["state"] for p in found}

    def check_strings(self):
        for row in ProposedString.objects.filter(author=self.author):
            spans = Span.objects.filter(
                annotation_set__author=self.author, string_key=row.string_key, label=row.label_id
            )
            assert (row.count, row.open) == (spans.count(), spans.filter(decision__isnull=True).count())


@pytest.fixture
def world():
    return World()


def test_one_list_of_what_all_runs_propose(world):
    run = world.merged("c", "a", "b")
    assert (run.author.name, run.params["left_out"]) == ("together-1", 1), "the third note was not read by all"
    assert world.author.annotation_sets.count() == 2
    found = review_state(document=world.notes[0], author=world.author)["proposals"]
    rows = [(p["start"], p["end"], len(p["runs"]), p["of"], p["confidence"], p["source"]) for p in found]
    assert rows == [
        (0, 5, 1, 3, 0.3333, "c"), (0, 11, 2, 3, 0.5, "a+b"), (6, 11, 1, 3, 0.3333, "c"),
        (21, 27, 1, 3, 0.3, "a"), (21, 27, 1, 3, 0.2, "b"),
    ]  # fmt: skip
    ids = [p["id"] for p in found]
    assert [sorted(ids.index(other) for other in p["rivals"]) for p in found] == [[1], [0, 2], [1], [4], [3]]
    assert found[1]["runs"][1] == {"run": "b", "confidence": 0.6, "source": "of b"}
    assert hints_of(world.notes[0], world.author.project.authors.get(name="a")) != []
    assert "together-1" not in str(hints_of(world.notes[0], world.author.project.authors.get(name="a")))


def test_the_same_runs_give_the_same_list_until_they_have_read_more(world):
    first = world.merged()
    assert review_together(project=world.project, runs=["c", "b", "a"], actor=None, key="other").pk == first.pk
    make.make_set(world.notes[2], world.project.authors.get(name="c"), [], submitted=True)
    second = world.merged(key="more")
    assert (second.author.name, second.author.annotation_sets.count()) == ("together-2", 3)


def test_what_can_t_be_merged_is_said(world):
    list_name = world.merged().author.name
    for names, said in (
        (["a"], "from 2 to 20"), (["a", "a"], "given twice: a"), (["a", "nobody"], "no run 'nobody'"),
        (["a", list_name], "together-1 is a merged list"),
    ):  # fmt: skip
        with pytest.raises(ServiceError, match=said):
            review_together(project=world.project, runs=names, actor=None, key="x")
    assert f"run:{list_name}" not in [option.word for option in options_of(world.project)]
    with pytest.raises(ServiceError, match="merged list"):
        asked = [Asked(f"run:{list_name}"), Asked("run:a")]
        start_ensemble(project=world.project, members=asked, method="union", actor=None, key="y")
    with pytest.raises(ServiceError, match="exists already"):
        review_together(project=world.project, runs=["a", "b"], actor=None, name=list_name, key="z")


def test_one_act_settles_a_place_and_one_undo_opens_it_again(world):
    world.merged()
    state = world.decide(Act.ACCEPT, world.span(WHOLE, "PATIENT"))
    assert state["open"] == 2, "both names of the third run went with it; the city has two labels still"
    assert world.states()[*MARIO, "PATIENT"] == world.states()[*ROSSI, "DOCTOR"] == "rejected"
    gold = Span.objects.get(annotation_set__author__kind="gold")
    assert [one["run"] for one in gold.provenance["runs"]] == ["a", "b"]
    assert (gold.provenance["from"], gold.provenance["of"]) == ("run:together-1", 3)
    assert gold.provenance["runs"][0]["confidence"] == 0.9
    rows = list(decisions(world.project))
    assert [(row["act"], row["after"]) for row in rows] == [
        ("accept", "accepted"), ("beside", "rejected"), ("beside", "rejected"),
    ]  # fmt: skip
    assert len({row["event"] for row in rows}) == 1 and rows[1]["proposed_start"] is not None
    world.check_strings()
    world.decide(Act.UNDO)
    assert set(world.states().values()) == {"open"} and not Decision.objects.exists()
    assert [row["after"] for row in decisions(world.project)][3:] == ["open"] * 3
    world.decide(Act.REDO)
    assert list(world.states().values()).count("rejected") == 2
    world.check_strings()


def test_closing_accepts_no_two_readings_of_one_place(world):
    world.merged()
    note = {"document": world.notes[0], "author": world.author, "user": world.rita}
    rest = set(Span.objects.filter(annotation_set__author=world.author).values_list("pk", flat=True))
    with pytest.raises(ServiceError, match="choose between them first"):
        review_closing.close_review(**note, rest=rest)
    assert not Decision.objects.exists()
    world.decide(Act.ACCEPT, world.span(WHOLE, "PATIENT"))
    world.decide(Act.REJECT, world.span(TORINO, "HOSPITAL"))
    assert review_closing.close_review(**note, rest=rest).closed_at is not None
    assert world.states()[*TORINO, "CITY"] == "accepted"


def test_a_correction_leaves_open_what_it_leaves_room_for(world):
    world.merged()
    patient = make.label_of(world.project, "PATIENT").pk
    world.decide(Act.CORRECT, world.span(WHOLE, "PATIENT"), place=(0, 5, patient), quote="Mario")
    assert world.states() == {
        (*MARIO, "PATIENT"): "accepted", (*WHOLE, "PATIENT"): "accepted", (*ROSSI, "DOCTOR"): "open",
        (*TORINO, "CITY"): "open", (*TORINO, "HOSPITAL"): "open",
    }  # fmt: skip


def test_a_rival_that_somebody_decided_on_stays(world):
    world.merged()
    world.decide(Act.ACCEPT, world.span(ROSSI, "DOCTOR"), user=world.rosa)
    assert world.states()[*WHOLE, "PATIENT"] == "rejected"
    world.decide(Act.ACCEPT, world.span(WHOLE, "PATIENT"))
    assert world.states()[*ROSSI, "DOCTOR"] == "accepted", "both can be wanted"
    with pytest.raises(ServiceError, match="decided otherwise"):
        world.decide(Act.UNDO, user=world.rosa)


def test_what_two_agree_on_is_one_bulk_act(world):
    world.merged()
    rule = Rule("merged", [world.author.pk], agree=2)
    bulk = plan_bulk(project=world.project, user=world.rita, rule=rule, act=BulkAct.Act.ACCEPT)
    assert bulk.planned == 2
    assert begin_bulk(bulk=bulk, user=world.rita)
    told = at_once(bulk, run_bulk)
    assert (told["decided"], told["beside"], told["left"]) == (2, 4, 0)
    assert Event.objects.filter(verb=Verb.REVIEW_DECIDED).count() == 2
    assert list(world.states().values()).count("open") == 2
    world.check_strings()
    gold = Span.objects.filter(annotation_set__author__kind="gold")
    assert [len(span.provenance["runs"]) for span in gold] == [2, 2]
    world.decide(Act.ACCEPT, world.span(MARIO, "PATIENT"), user=world.rosa)  # a person decides otherwise
    assert begin_undo(bulk=bulk)
    told = at_once(bulk, undo_bulk)
    assert (told["taken_back"], told["kept"]) == (5, 1)
    assert world.states()[*MARIO, "PATIENT"] == "accepted" and world.states(1)[*WHOLE, "PATIENT"] == "open"
    world.check_strings()


def test_a_bulk_act_over_all_takes_the_reading_that_most_agree_on(world):
    world.merged()
    rule = Rule("threshold", [world.author.pk], least=0.0)
    bulk = plan_bulk(project=world.project, user=world.rita, rule=rule, act=BulkAct.Act.ACCEPT)
    begin_bulk(bulk=bulk, user=world.rita)
    told = at_once(bulk, run_bulk)
    assert (told["decided"], told["beside"], bulk.planned) == (10, 0, 10)
    assert world.states() == {
        (*MARIO, "PATIENT"): "rejected", (*WHOLE, "PATIENT"): "accepted", (*ROSSI, "DOCTOR"): "rejected",
        (*TORINO, "CITY"): "accepted", (*TORINO, "HOSPITAL"): "rejected",
    }  # fmt: skip
    with pytest.raises(ServiceError, match="nothing that is open"):
        rule = Rule("merged", [world.author.pk], agree=1)
        plan_bulk(project=world.project, user=world.rita, rule=rule, act=BulkAct.Act.ACCEPT)


def test_a_list_is_no_run_that_agrees_with_its_runs(world):
    world.merged()
    rule = Rule("agreed", [a.pk for a in world.project.authors.filter(kind="run")], agree=3)
    with pytest.raises(ServiceError, match="nothing that is open"):
        plan_bulk(project=world.project, user=world.rita, rule=rule, act=BulkAct.Act.ACCEPT)


def test_by_command(world):
    out = StringIO()
    call_command("review_together", "ward", "a", "b", "--name", "both", "--wait", "--json", stdout=out)
    told = json.loads(out.getvalue())
    assert (told["run"], told["done"], told["left_out"]) == ("both", 3, 0)
    assert told["members"] == ["run:a", "run:b"]
    with pytest.raises((CommandError, SystemExit)):
        call_command("review_together", "ward", "a", stdout=StringIO(), stderr=StringIO())
    assert Run.objects.count() == 1
