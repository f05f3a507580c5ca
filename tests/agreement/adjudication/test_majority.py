"""A majority vote over many notes: what becomes gold, what is left or skipped, its undo, page and commands."""

import uuid
from types import SimpleNamespace

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotations import models
from annotations.agreement.events import ADJUDICATION_DECIDED, MAJORITY_APPLIED, MAJORITY_UNDONE
from annotations.agreement.selectors.adjudications import MajorityPreview, free_notes, preview
from annotations.agreement.selectors.desk import desk, desk_state, key_of
from annotations.agreement.services import majority
from annotations.agreement.services.comparing import bring_up_to_date
from annotations.agreement.services.deciding import decide, finish_adjudication, reopen
from annotations.agreement.services.majority import plan_majority, run_majority, undo_majority
from annotations.agreement.services.plan import Act, Request, ShownLocation
from annotations.core.services import ServiceError
from annotations.gold.services.making import make_gold, withdraw_gold
from annotations.jobs.services.queue import begin_undo
from annotations.ops.services.erasing import erase_patient
from annotations.text.spans import Crowd
from tests import factories as make
from tests.held import made_once
from tests.worlds.checks import check_page
from tests.worlds.commands import answered
from tests.worlds.reviewing import gold_of

TEXT = "Mario Rossi, 54 anni, visto il 12/03/2021 a Torino."
NAME, AGE, CITY = (0, 11, "PATIENT"), (13, 15, "AGE"), (44, 50, "CITY")
HOSPITAL, DOCTOR = (44, 50, "HOSPITAL"), (44, 50, "DOCTOR")
PAGE, START = reverse("majority", args=["covid"]), reverse("majority_start", args=["covid"])


def make_votes():
    """Three annotators. In `whole`, a majority decides every location; in `tied`, Torino has three labels."""
    project = make.make_project("covid")
    people = [make.make_member(project, user=name) for name in ("anna", "bruno", "carla")]
    world = SimpleNamespace(
        project=project, people=people, rita=make.make_member(project, "reviewer", "rita"),
        vera=make.make_member(project, "viewer", "vera"),
    )  # fmt: skip
    # Two of three mark the city; one alone marks the age.
    world.whole = submitted(world, "whole", [[NAME, CITY], [NAME, CITY, AGE], [NAME]], patient_id="p1")
    world.tied = submitted(world, "tied", [[NAME, CITY], [NAME, HOSPITAL], [NAME, DOCTOR]])
    return world


made, votes = made_once(make_votes)


def submitted(world, name, sets, **fields):
    note = make.make_note(world.project, TEXT, name, **fields)
    for person, spans in zip(world.people, sets, strict=False):
        make.make_set(note, person, spans, submitted=True)
    return note


def planned(world):
    bring_up_to_date(world.project)
    return plan_majority(project=world.project, user=world.rita, key=uuid.uuid4())


def counts(act):
    """Run the planned vote; return how many notes it made gold, how many have ties, and how many were left."""
    run_majority(act=act)
    act.refresh_from_db()
    return act.gold, act.tied, act.left


def vote(world):
    act = planned(world)
    counts(act)
    return act


def undo(world, act):
    assert begin_undo(act)
    found = undo_majority(act=act, user=world.rita)
    act.refresh_from_db()
    return found


def provenance(note, start):
    spans = models.Span.objects.filter(annotation_set__document=note, annotation_set__author__kind="gold")
    return spans.get(start=start).provenance


def has_set(note, kind):
    return models.AnnotationSet.objects.filter(document=note, author__kind=kind).exists()


def test_a_note_without_ties_becomes_gold(votes):
    """The event names the vote with its counts, and each gold span keeps who voted for it."""
    act = vote(votes)
    assert gold_of(votes.whole) == [NAME, CITY]
    assert (act.state, act.gold, act.spans, act.tied, act.ties, act.left) == ("done", 1, 2, 1, 1, 0)
    assert models.Adjudication.objects.get(document=votes.whole).finished_by == votes.rita
    anna, bruno, _carla = sorted(
        each.author_id for each in votes.whole.annotation_sets.filter(author__kind="annotator")
    )
    city = provenance(votes.whole, 44)
    said = city["adjudication"]
    assert city["by"] == "rita"
    assert (said["choice"], said["annotators"], said["by"]) == ("majority", [anna, bruno], "rita")
    assert provenance(votes.whole, 0)["adjudication"]["choice"] == "unanimous"
    (event,) = models.Event.objects.filter(verb=MAJORITY_APPLIED)
    assert event.actor == votes.rita and event.data["vote"] == str(act.pk)
    assert (event.data["gold"], event.data["tied"], event.data["has_gold"]) == (1, 1, 0)
    assert models.Event.objects.filter(verb=ADJUDICATION_DECIDED).count() == 2
    with pytest.raises(ServiceError, match="No note can be decided"):
        planned(votes)


def test_ties_are_left_for_adjudication_and_the_rest_is_decided(votes):
    only = submitted(votes, "only", [[CITY], [HOSPITAL]])
    empty = submitted(votes, "empty", [[], []])
    act = vote(votes)
    assert (act.tied, act.ties) == (2, 2)
    assert not has_set(votes.tied, "gold") and not models.Adjudication.objects.filter(document=votes.tied).exists()
    state = desk_state(votes.project, desk(votes.project, votes.tied))
    assert [(each["start"], each["state"]) for each in state["locations"]] == [(0, "decided"), (44, "open")]
    assert state["open"] == 1 and not state["finished"]
    assert not has_set(only, "adjudicated") and not models.Resolution.objects.filter(document=only).exists()
    assert has_set(empty, "gold") and gold_of(empty) == [], "nobody marked anything"


def test_the_preview_counts_what_is_skipped_and_why(votes):
    golden = submitted(votes, "golden", [[NAME], [NAME]])
    make_gold(document=golden, annotation_set=golden.annotation_sets.first(), actor=votes.rita)
    reviewed = submitted(votes, "reviewed", [[NAME], [NAME]])
    make.make_set(reviewed, make.make_author(votes.project, kind="gold", name="gold"))
    begun = submitted(votes, "begun", [[NAME], [NAME]])
    make.make_set(begun, make.make_author(votes.project, kind="adjudicated", name="adjudicated"))
    pending = submitted(votes, "pending", [[NAME], [NAME]])
    models.Assignment.objects.create(project=votes.project, document=pending, user=votes.people[2])
    submitted(votes, "alone", [[NAME]])
    bring_up_to_date(votes.project)
    assert preview(votes.project) == MajorityPreview(
        whole=1, tied=1, ties=1, has_gold=1, in_review=1, begun=1, pending=1
    )
    act = vote(votes)
    assert (act.has_gold, act.in_review, act.begun, act.pending) == (1, 1, 1, 1)
    assert not has_set(pending, "gold") and gold_of(golden) == [NAME]
    assert not models.Resolution.objects.filter(document__in=[golden, reviewed, begun, pending]).exists()


def test_repeating_a_stopped_vote_decides_only_the_rest(votes, monkeypatch):
    monkeypatch.setattr(majority, "BATCH", 1)
    more = submitted(votes, "more", [[NAME], [NAME]])
    act = planned(votes)

    def stop(done, total):
        if done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_majority(act=act, progress=stop)
    assert counts(act) == (2, 1, 0)
    assert gold_of(more) == [NAME]


@pytest.mark.parametrize("seen", ["before", "after"])
def test_a_note_that_somebody_begins_meanwhile_is_left_to_them(votes, monkeypatch, seen):
    """Their rows become visible before or after the vote has found the note free."""
    act = planned(votes)
    make_gold(document=votes.whole, annotation_set=votes.whole.annotation_sets.last(), actor=votes.rita)
    answers = iter([lambda project, documents: list(documents)] if seen == "after" else [])

    def found(project, among=None):
        return free_notes(project) if among is None else next(answers, free_notes)(project, among)

    monkeypatch.setattr(majority, "free_notes", found)
    assert counts(act) == (0, 1, 1) and gold_of(votes.whole) == [NAME]
    assert next(answers, None) is None


@pytest.mark.parametrize("why", ["crowded", "erased"])
def test_a_note_that_has_no_room_or_is_erased_meanwhile_is_left(votes, monkeypatch, why):
    act = planned(votes)
    if why == "crowded":
        monkeypatch.setattr(majority, "crowd_in", lambda bounds: Crowd(2) if len(bounds) == 2 else None)
    else:
        erase_patient(project=votes.project, patient_id="p1", actor=votes.rita)
    assert counts(act) == (0, 1, 1) and not has_set(votes.whole, "adjudicated")


@pytest.mark.both_databases
def test_many_notes_need_as_many_queries_as_few(votes):
    """59 queries a note once took a quarter of an hour for 10,000 notes."""

    def queries(notes):
        for number in range(notes):
            submitted(votes, f"{notes}-{number}", [[NAME, CITY], [NAME, CITY, AGE], [NAME]])
        act = planned(votes)
        with CaptureQueriesContext(connection) as made:
            assert counts(act)[0] >= notes
        begin_undo(act)
        with CaptureQueriesContext(connection) as back:
            assert undo_majority(act=act, user=votes.rita)["undone"] == act.planned
        assert not models.AnnotationSet.objects.filter(author__kind__in=["gold", "adjudicated"]).exists()
        return len(made), len(back)

    few, many = queries(2), queries(20)
    # On SQLite, some statements hold a limited number of values.
    assert many[0] <= few[0] + 12 and many[1] <= few[1] + 12
    assert max(many) < 90


def test_a_vote_leaves_what_an_adjudicators_acts_would_leave(votes):
    """The same decisions, events, versions and gold as by hand on the page."""
    twin = submitted(votes, "twin", [[NAME, CITY], [NAME, CITY, AGE], [NAME]])
    found = desk(votes.project, twin)
    for item in found.items:
        choice = Act.UNANIMOUS if item.location.agreed else Act.MAJORITY
        seen = ShownLocation(item.start, item.end, key_of(found, item))
        decide(project=votes.project, document=twin, user=votes.rita, request=Request(uuid.uuid4(), choice, (seen,)))
    finish_adjudication(project=votes.project, document=twin, user=votes.rita)
    own = models.AnnotationSet.objects.get(document=twin, author__kind="adjudicated")
    make_gold(document=twin, annotation_set=own, actor=votes.rita)
    vote(votes)
    assert left_in(votes.whole) == left_in(twin)


def left_in(note):
    """Everything that adjudication and gold leave in a note, without ids and times."""

    def timeless(value):
        if isinstance(value, dict):
            return {key: timeless(each) for key, each in value.items() if key not in ("at", "set", "from_set", "act")}
        return [timeless(each) for each in value] if isinstance(value, list | tuple) else value

    kinds = ["adjudicated", "gold"]
    sets = models.AnnotationSet.objects.filter(document=note, author__kind__in=kinds).order_by("author__kind")
    spans = [list(each.spans.order_by("start")) for each in sets]
    rows = models.Resolution.objects.filter(document=note).order_by("start")
    events = models.Event.objects.filter(document_id=note.pk, annotation_set_id__in=sets)
    return (
        [(each.author.kind, each.state, each.blind) for each in sets],
        [[(s.start, s.end, s.label_id, timeless(s.provenance)) for s in some] for some in spans],
        [(r.start, r.end, r.choice, r.spans, r.heard, r.by_id) for r in rows],
        list(models.Adjudication.objects.filter(document=note).values_list("heard", "finished_by")),
        sorted(set(events.values_list("verb", flat=True))),
    )


# ── Undo ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_undo_leaves_notes_as_they_were(votes):
    act = vote(votes)
    assert undo(votes, act)["undone"] == 2
    for note in (votes.whole, votes.tied):
        assert not has_set(note, "gold") and not has_set(note, "adjudicated")
    assert not models.Resolution.objects.exists() and not models.Adjudication.objects.exists()
    assert models.Event.objects.filter(verb=MAJORITY_UNDONE, actor=votes.rita).count() == 1
    assert preview(votes.project).planned == 2
    # An undone vote is not undone or continued again.
    assert not begin_undo(act)
    with pytest.raises(ServiceError, match="undone or has ended"):
        run_majority(act=act)
    assert not has_set(votes.whole, "gold")
    assert vote(votes).gold == 1


def test_undo_keeps_what_people_changed_since(votes):
    """A note that was reopened, and one whose gold was withdrawn."""
    other = submitted(votes, "other", [[NAME], [NAME]])
    act = vote(votes)
    reopen(project=votes.project, document=votes.whole, user=votes.rita)
    withdraw_gold(document=other, actor=votes.rita)
    found = undo(votes, act)
    assert (found["undone"], found["kept"]) == (1, 2)
    assert gold_of(votes.whole) == [NAME, CITY] and has_set(other, "adjudicated")


def test_erasing_a_patient_leaves_nothing_of_the_note(votes):
    act = vote(votes)
    erase_patient(project=votes.project, patient_id="p1", actor=votes.rita)
    assert models.MajorityNote.objects.filter(act=act).count() == 1
    assert undo(votes, act)["undone"] == 1


# ── Page and command ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_form_sent_twice_starts_one_vote(votes, sign_in):
    client = sign_in(votes.rita)
    client.get(PAGE)
    answers = [client.post(START, {"token": "t"}) for _ in range(2)]
    job = models.Job.objects.get(kind="majority")
    assert {answer.url for answer in answers} == {reverse("job", args=["covid", job.number])}
    act = models.MajorityAct.objects.get()
    assert job.params == {"vote": str(act.pk)} and act.planned == 2
    response = client.post(reverse("majority_undo", args=["covid", act.pk]), follow=True)
    assert "Cancel the job first" in check_page(response)


def test_the_result_offers_undo_and_the_ties(votes, sign_in):
    client, act = sign_in(votes.rita), vote(votes)
    url, undoing = (reverse(name, args=["covid", act.pk]) for name in ("majority_act", "majority_undo"))
    html = check_page(client.get(url))
    assert undoing in html and "Adjudicate the ties" in html and 'id="spans">2<' in html
    response = client.post(undoing)
    job = models.Job.objects.get(kind="majority_undo")
    assert response.url == reverse("job", args=["covid", job.number])
    assert make.reread(act).state == "undoing"
    assert undoing not in check_page(client.get(url))
    assert str(act.pk) in check_page(client.get(PAGE))


# ── Commands ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_votes_are_previewed_made_listed_and_undone(votes, no_redis):
    def run(*words):
        return answered("majority_gold", "covid", *words)

    assert (run("--preview")["whole"], run("--preview")["ties"]) == (1, 1)
    assert run() == "by" and run("--by", "vera") == run("--list", "--by", "vera") == "access"
    assert not models.MajorityAct.objects.exists()
    assert run("--by", "rita")["gold"] == 1

    act = models.MajorityAct.objects.get()
    for words, code in (
        ([act.pk], "by"), ([act.pk, "--by", "vera"], "access"), (["nothing", "--by", "rita"], "vote"),
        (["6f9619ff-8b86-4d01-b42d-00cf4fc964ff", "--by", "rita"], "vote"),
    ):  # fmt: skip
        assert run("--undo", *words) == code
    listed = run("--list", "--by", "rita")["votes"]
    assert [(row["id"], row["state"], row["gold"]) for row in listed] == [(str(act.pk), "done", 1)]
    found = run("--undo", act.pk, "--by", "rita")
    assert (found["state"], found["undone"], found["kept"]) == ("undone", 2, 0)
    assert not models.AnnotationSet.objects.filter(author__kind="gold").exists()
    assert models.Event.objects.get(verb="majority.undone").actor == votes.rita
    assert models.Job.objects.get().kind == "majority_undo"
