"""A majority vote over many notes: what becomes gold, what is left or skipped, its undo, page and command."""

import io
import json
import uuid
from types import SimpleNamespace

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotations.adjudicate.events import ADJUDICATION_DECIDED, MAJORITY_APPLIED, MAJORITY_UNDONE
from annotations.adjudicate.selectors.desk import desk, desk_state, key_of
from annotations.adjudicate.selectors.majority import Preview, free_notes, preview
from annotations.adjudicate.services import majority, majority_batches
from annotations.adjudicate.services.deciding import decide, finish_adjudication, reopen
from annotations.adjudicate.services.majority import begin_undo, plan_majority, run_majority, undo_majority
from annotations.adjudicate.services.plan import Act, Request, Seen
from annotations.agreement.services.comparing import bring_up_to_date
from annotations.core.errors import ServiceError
from annotations.domain.crowding import Crowd
from annotations.gold.services.making import make_gold, withdraw_gold
from annotations.models import (
    Adjudication,
    AnnotationSet,
    Assignment,
    Document,
    Event,
    Job,
    MajorityAct,
    MajorityNote,
    Resolution,
    Span,
)
from annotations.ops.services.erasing import erase_patient
from tests import factories as make
from tests.held import fresh
from tests.worlds.checks import check_page

pytestmark = pytest.mark.both_databases

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


@pytest.fixture(scope="module")
def made_votes(once):
    return once(make_votes)


@pytest.fixture
def votes(made_votes, db):
    return fresh(made_votes, make_votes)


def submitted(world, name, sets, **fields):
    note = make.make_note(world.project, TEXT, name, **fields)
    for person, spans in zip(world.people, sets, strict=False):
        make.make_set(note, person, spans, submitted=True)
    return note


def vote(world):
    bring_up_to_date(world.project)
    act = plan_majority(project=world.project, user=world.rita, key=uuid.uuid4())
    run_majority(act=act)
    act.refresh_from_db()
    return act


def undo(world, act):
    assert begin_undo(act)
    found = undo_majority(act=act, user=world.rita)
    act.refresh_from_db()
    return found


def gold(note):
    rows = Span.objects.filter(annotation_set__document=note, annotation_set__author__kind="gold")
    return [(each.start, each.end, each.label.name) for each in rows.select_related("label").order_by("start")]


def has_set(note, kind):
    return AnnotationSet.objects.filter(document=note, author__kind=kind).exists()


def test_a_note_without_ties_becomes_gold(votes):
    act = vote(votes)
    assert gold(votes.whole) == [NAME, CITY]
    assert (act.state, act.gold, act.spans, act.tied, act.ties, act.left) == ("done", 1, 2, 1, 1, 0)
    assert Adjudication.objects.get(document=votes.whole).finished_by == votes.rita


def test_every_gold_span_keeps_who_voted_for_it(votes):
    vote(votes)
    city = Span.objects.get(annotation_set__document=votes.whole, annotation_set__author__kind="gold", start=44)
    anna, bruno, _carla = sorted(
        each.author_id for each in votes.whole.annotation_sets.filter(author__kind="annotator")
    )
    assert city.provenance["by"] == "rita"
    said = city.provenance["adjudication"]
    assert (said["choice"], said["annotators"], said["by"]) == ("majority", [anna, bruno], "rita")
    name = Span.objects.get(annotation_set__document=votes.whole, annotation_set__author__kind="gold", start=0)
    assert name.provenance["adjudication"]["choice"] == "unanimous"


def test_ties_are_left_for_adjudication_and_the_rest_is_decided(votes):
    vote(votes)
    assert not has_set(votes.tied, "gold") and not Adjudication.objects.filter(document=votes.tied).exists()
    state = desk_state(votes.project, desk(votes.project, votes.tied))
    assert [(each["start"], each["state"]) for each in state["locations"]] == [(0, "decided"), (44, "open")]
    assert state["open"] == 1 and not state["finished"]


def test_a_note_with_nothing_but_ties_stays_as_it_is(votes):
    only = submitted(votes, "only", [[CITY], [HOSPITAL]])
    act = vote(votes)
    assert not has_set(only, "adjudicated") and not Resolution.objects.filter(document=only).exists()
    assert (act.tied, act.ties) == (2, 2)


def test_a_note_in_which_all_marked_nothing_becomes_gold_without_spans(votes):
    note = submitted(votes, "empty", [[], []])
    vote(votes)
    assert has_set(note, "gold") and gold(note) == []


def test_one_event_names_the_vote_with_its_counts(votes):
    act = vote(votes)
    (event,) = Event.objects.filter(verb=MAJORITY_APPLIED)
    assert event.actor == votes.rita and event.data["vote"] == str(act.pk)
    assert (event.data["gold"], event.data["tied"], event.data["has_gold"]) == (1, 1, 0)
    assert Event.objects.filter(verb=ADJUDICATION_DECIDED).count() == 2


def test_the_preview_counts_what_is_skipped_and_why(votes):
    golden = submitted(votes, "golden", [[NAME], [NAME]])
    make_gold(document=golden, annotation_set=golden.annotation_sets.first(), actor=votes.rita)
    reviewed = submitted(votes, "reviewed", [[NAME], [NAME]])
    make.make_set(reviewed, make.make_author(votes.project, kind="gold", name="gold"))
    begun = submitted(votes, "begun", [[NAME], [NAME]])
    make.make_set(begun, make.make_author(votes.project, kind="adjudicated", name="adjudicated"))
    pending = submitted(votes, "pending", [[NAME], [NAME]])
    Assignment.objects.create(project=votes.project, document=pending, user=votes.people[2])
    submitted(votes, "alone", [[NAME]])
    bring_up_to_date(votes.project)
    assert preview(votes.project) == Preview(whole=1, tied=1, ties=1, has_gold=1, in_review=1, begun=1, pending=1)
    act = vote(votes)
    assert (act.has_gold, act.in_review, act.begun, act.pending) == (1, 1, 1, 1)
    assert not has_set(pending, "gold") and gold(golden) == [NAME]
    assert not Resolution.objects.filter(document__in=[golden, reviewed, begun, pending]).exists()


def test_repeating_a_stopped_vote_decides_only_the_rest(votes, monkeypatch):
    monkeypatch.setattr(majority, "BATCH", 1)
    more = submitted(votes, "more", [[NAME], [NAME]])
    bring_up_to_date(votes.project)
    act = plan_majority(project=votes.project, user=votes.rita, key=uuid.uuid4())

    def stop(done, total):
        if done == 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_majority(act=act, progress=stop)
    run_majority(act=act)
    act.refresh_from_db()
    assert (act.gold, act.tied, act.left) == (2, 1, 0)
    assert gold(more) == [NAME]


def test_a_note_that_somebody_changes_meanwhile_is_left(votes):
    bring_up_to_date(votes.project)
    act = plan_majority(project=votes.project, user=votes.rita, key=uuid.uuid4())
    make_gold(document=votes.whole, annotation_set=votes.whole.annotation_sets.last(), actor=votes.rita)
    run_majority(act=act)
    act.refresh_from_db()
    assert (act.gold, act.tied, act.left) == (0, 1, 1) and gold(votes.whole) == [NAME]


def test_a_note_that_somebody_begins_at_the_same_moment_is_left_to_them(votes, monkeypatch):
    """Their rows become visible only after the vote has found the note free."""
    bring_up_to_date(votes.project)
    act = plan_majority(project=votes.project, user=votes.rita, key=uuid.uuid4())
    make_gold(document=votes.whole, annotation_set=votes.whole.annotation_sets.last(), actor=votes.rita)
    answers = iter([lambda project, documents: list(documents)])
    monkeypatch.setattr(
        majority_batches,
        "free_notes",
        lambda project, documents: next(answers, free_notes)(project, documents),
    )
    run_majority(act=act)
    act.refresh_from_db()
    assert next(answers, None) is None
    assert (act.gold, act.tied, act.left) == (0, 1, 1) and gold(votes.whole) == [NAME]


def test_a_note_without_room_for_its_spans_is_left(votes, monkeypatch):
    monkeypatch.setattr(majority_batches, "crowd_in", lambda bounds: Crowd(2) if len(bounds) == 2 else None)
    act = vote(votes)
    assert (act.gold, act.tied, act.left) == (0, 1, 1) and not has_set(votes.whole, "adjudicated")


def test_many_notes_need_as_many_queries_as_few(votes):
    """59 queries a note once took a quarter of an hour for 10,000 notes."""

    def queries(notes):
        for number in range(notes):
            submitted(votes, f"{notes}-{number}", [[NAME, CITY], [NAME, CITY, AGE], [NAME]])
        bring_up_to_date(votes.project)
        act = plan_majority(project=votes.project, user=votes.rita, key=uuid.uuid4())
        with CaptureQueriesContext(connection) as made:
            run_majority(act=act)
        act.refresh_from_db()
        assert act.gold >= notes
        begin_undo(act)
        with CaptureQueriesContext(connection) as back:
            assert undo_majority(act=act, user=votes.rita)["undone"] == act.planned
        for note in Document.objects.filter(name__startswith=f"{notes}-"):
            assert not has_set(note, "gold") and not has_set(note, "adjudicated")
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
        seen = Seen(item.start, item.end, key_of(found, item))
        decide(project=votes.project, document=twin, user=votes.rita, request=Request(uuid.uuid4(), choice, (seen,)))
    finish_adjudication(project=votes.project, document=twin, user=votes.rita)
    own = AnnotationSet.objects.get(document=twin, author__kind="adjudicated")
    make_gold(document=twin, annotation_set=own, actor=votes.rita)
    vote(votes)
    assert left_in(votes.whole) == left_in(twin)


def left_in(note):
    """Everything that adjudication and gold leave in a note, without ids and times."""

    def timeless(value):
        if isinstance(value, dict):
            return {key: timeless(each) for key, each in value.items() if key not in ("at", "set", "from_set", "act")}
        return [timeless(each) for each in value] if isinstance(value, list | tuple) else value

    sets = AnnotationSet.objects.filter(document=note, author__kind__in=["adjudicated", "gold"]).order_by(
        "author__kind"
    )
    rows = Resolution.objects.filter(document=note)
    return {
        "sets": [(each.author.kind, each.state, each.blind) for each in sets],
        "spans": [
            [(s.start, s.end, s.label_id, timeless(s.provenance)) for s in each.spans.order_by("start")]
            for each in sets
        ],
        "decisions": [(r.start, r.end, r.choice, r.spans, r.heard, r.by_id) for r in rows.order_by("start")],
        "finished": list(Adjudication.objects.filter(document=note).values_list("heard", "finished_by")),
        "verbs": sorted(
            set(Event.objects.filter(document_id=note.pk, annotation_set_id__in=sets).values_list("verb", flat=True))
        ),
    }


def test_a_note_that_is_erased_meanwhile_is_left(votes):
    bring_up_to_date(votes.project)
    act = plan_majority(project=votes.project, user=votes.rita, key=uuid.uuid4())
    erase_patient(project=votes.project, patient_id="p1", actor=votes.rita)
    run_majority(act=act)
    act.refresh_from_db()
    assert (act.gold, act.tied, act.left) == (0, 1, 1)


def test_without_notes_to_decide_there_is_no_vote(votes):
    vote(votes)
    with pytest.raises(ServiceError, match="No note can be decided"):
        plan_majority(project=votes.project, user=votes.rita, key=uuid.uuid4())


# ── Undo ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_undo_leaves_notes_as_they_were(votes):
    act = vote(votes)
    assert undo(votes, act)["undone"] == 2
    for note in (votes.whole, votes.tied):
        assert not has_set(note, "gold") and not has_set(note, "adjudicated")
    assert not Resolution.objects.exists() and not Adjudication.objects.exists()
    assert Event.objects.filter(verb=MAJORITY_UNDONE, actor=votes.rita).count() == 1
    assert preview(votes.project).planned == 2
    assert vote(votes).gold == 1


def test_undo_keeps_what_people_changed_since(votes):
    act = vote(votes)
    reopen(project=votes.project, document=votes.whole, user=votes.rita)
    found = undo(votes, act)
    assert (found["undone"], found["kept"]) == (1, 1)
    assert gold(votes.whole) == [NAME, CITY]


def test_undo_keeps_a_note_whose_gold_was_withdrawn(votes):
    act = vote(votes)
    withdraw_gold(document=votes.whole, actor=votes.rita)
    assert undo(votes, act)["kept"] == 1
    assert has_set(votes.whole, "adjudicated")


def test_an_undone_vote_is_not_undone_or_continued_again(votes):
    act = vote(votes)
    undo(votes, act)
    assert not begin_undo(act)
    with pytest.raises(ServiceError, match="undone or has ended"):
        run_majority(act=act)
    assert not has_set(votes.whole, "gold")


def test_erasing_a_patient_leaves_nothing_of_the_note(votes):
    act = vote(votes)
    erase_patient(project=votes.project, patient_id="p1", actor=votes.rita)
    assert MajorityNote.objects.filter(act=act).count() == 1
    assert undo(votes, act)["undone"] == 1


# ── Page and command ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_page_shows_the_counts_before_anything_happens(votes, sign_in):
    html = check_page(sign_in(votes.rita).get(PAGE))
    assert "Decide 2 notes by majority" in html and 'id="ties">1<' in html
    assert not MajorityAct.objects.exists()
    assert "anna" not in html and "bruno" not in html


def test_the_preview_of_many_notes_needs_few_queries(votes, sign_in, django_assert_max_num_queries):
    for number in range(10):
        submitted(votes, f"more-{number}", [[NAME, CITY], [NAME, HOSPITAL]])
    bring_up_to_date(votes.project)
    client = sign_in(votes.rita)
    with django_assert_max_num_queries(25):
        client.get(PAGE)


def test_an_empty_project_has_no_form(db, sign_in):
    client = sign_in(make.make_member(make.make_project("empty"), "reviewer"))
    html = check_page(client.get(reverse("majority", args=["empty"])))
    assert "<form" not in html.split("<main")[1]


def test_a_form_sent_twice_starts_one_vote(votes, sign_in):
    client = sign_in(votes.rita)
    client.get(PAGE)
    answers = [client.post(START, {"token": "t"}) for _ in range(2)]
    job = Job.objects.get(kind="majority")
    assert {answer.url for answer in answers} == {reverse("job", args=["covid", job.number])}
    act = MajorityAct.objects.get()
    assert job.params == {"vote": str(act.pk)} and act.planned == 2


def test_the_result_offers_undo_and_the_ties(votes, sign_in):
    client, act = sign_in(votes.rita), vote(votes)
    url = reverse("majority_act", args=["covid", act.pk])
    html = check_page(client.get(url))
    assert "Undo majority vote" in html and "Adjudicate the ties" in html and 'id="spans">2<' in html
    response = client.post(reverse("majority_undo", args=["covid", act.pk]))
    job = Job.objects.get(kind="majority_undo")
    assert response.url == reverse("job", args=["covid", job.number])
    act.refresh_from_db()
    assert act.state == "undoing"
    assert "Undo majority vote" not in check_page(client.get(url))
    assert str(act.pk) in check_page(client.get(PAGE))


def test_a_vote_whose_job_runs_cannot_be_undone(votes, sign_in):
    client = sign_in(votes.rita)
    client.get(PAGE)
    client.post(START, {"token": "t"})
    act = MajorityAct.objects.get()
    response = client.post(reverse("majority_undo", args=["covid", act.pk]), follow=True)
    assert "Cancel the job first" in check_page(response)


def test_the_command_previews_and_votes(votes):
    def run(*args):
        out = io.StringIO()
        call_command("majority_gold", "covid", *args, "--json", stdout=out)
        return json.loads(out.getvalue())

    assert (run("--preview")["gold"], run("--preview")["ties"]) == (1, 1)
    assert not MajorityAct.objects.exists()
    with pytest.raises(CommandError, match="A person must decide on gold"):
        run()
    with pytest.raises(CommandError, match="doesn't have permission"):
        run("--by", "vera")
    assert run("--by", "rita")["gold"] == 1
    out = io.StringIO()
    call_command("majority_gold", "covid", "--preview", stdout=out)
    assert "Would make 0 notes gold" in out.getvalue() and "2 with an adjudication" not in out.getvalue()
