"""Reviewers at one moment, with real connections and real commits: no decision lost, none doubled."""

import json
import uuid
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotations.models import (
    AnnotationSet,
    Author,
    BulkAct,
    Decision,
    Document,
    Event,
    PlantedLeak,
    Project,
    Review,
    Span,
    User,
    Verb,
)
from annotations.review.selectors.bulk_rules import Rule
from annotations.review.selectors.planted import aliases
from annotations.review.services.bulk import plan_bulk
from annotations.review.services.planting import draw_leaks
from annotations.review.services.starting import start_bulk
from tests import factories as make

TRIALS = 12
TEXT = "Mario Rossi, 54 anni, visto a Torino dal dott. Bianchi."
PLACES = [(0, 11, "PATIENT"), (13, 15, "AGE"), (30, 36, "HOSPITAL"), (47, 54, "DOCTOR")]


@pytest.fixture
def world(transactional_db: None) -> SimpleNamespace:
    project = make.make_project("covid")
    rita, rosa = (make.make_member(project, "reviewer", name) for name in ("rita", "rosa"))
    runs = [make.make_author(project, kind="run", name=name) for name in ("rules-1", "rules-2")]
    labels = {label.name: label.pk for label in project.label_set.labels.all()}
    return SimpleNamespace(project=project, rita=rita, rosa=rosa, runs=runs, labels=labels)


def note_of(world: SimpleNamespace) -> Document:
    """A note that both runs have read alike."""
    note = make.make_note(world.project, TEXT)
    for run in world.runs:
        make.make_set(note, run, PLACES, submitted=True)
    return note


def proposals(note: Document, run: Author) -> list[Span]:
    return list(Span.objects.filter(annotation_set__document=note, annotation_set__author=run).order_by("start"))


def named(world: SimpleNamespace, spans: list[Span]) -> list[int]:
    """The spans as pages of review name them."""
    return [aliases(world.project).of(span.pk) for span in spans]


def poster(user: User, note: Document, run: Author, name: str = "review_decide") -> Callable[..., Any]:
    client = Client()
    client.force_login(user)
    path = reverse(name, args=[note.project.slug, run.pk, note.pk])

    def post(act: str = "", **data: Any) -> Any:
        known = {"act": act, "change_id": str(uuid.uuid4()), "person": user.pk}
        return client.post(path, json.dumps(known | data), content_type="application/json")

    return post


def check(note: Document, decided: int) -> AnnotationSet:
    """There is one gold; its rows are what was accepted; its version and the log count the same decisions."""
    gold = AnnotationSet.objects.get(document=note, author__kind="gold")
    events = Event.objects.filter(annotation_set_id=gold.pk, verb__in=[Verb.REVIEW_DECIDED, Verb.REVIEW_UNDONE])
    assert events.count() == gold.version == decided
    accepted = Decision.objects.filter(review__document=note, verdict="accepted").values_list(
        "start", "end", "label_id"
    )
    assert set(gold.spans.values_list("start", "end", "label_id")) == set(accepted)
    return gold


def test_two_reviewers_decide_otherwise_on_one_proposal(world, at_once):
    """The first wins; the second is told, whichever it is, and can decide again."""
    run = world.runs[0]
    for trial in range(TRIALS):
        note = note_of(world)
        first = proposals(note, run)[0]
        rita, rosa = (poster(user, note, run) for user in (world.rita, world.rosa))
        if trial % 2:  # the gold set is there already
            rita("accept", proposal=proposals(note, run)[1].pk, seen=["open"])
        answers = at_once(
            partial(rita, "accept", proposal=first.pk, seen=["open"]),
            partial(rosa, "reject", proposal=first.pk, seen=["open"]),
        )
        assert sorted(answer.status_code for answer in answers) == [200, 409]
        won = "rita" if answers[0].status_code == 200 else "rosa"
        refused = answers[1 if won == "rita" else 0].json()
        assert refused["error"] == "moved"
        assert refused["message"].startswith(f"{won.capitalize()} ")
        assert refused["proposals"][0]["by"] == won
        assert Decision.objects.get(proposal_id=first.pk).reviewer.username == won
        check(note, 1 + trial % 2)


def test_two_reviewers_decide_alike(world, at_once):
    run = world.runs[0]
    for _ in range(TRIALS):
        note = note_of(world)
        first = proposals(note, run)[0]
        posts = [poster(user, note, run) for user in (world.rita, world.rosa)]
        answers = at_once(*(partial(post, "accept", proposal=first.pk, seen=["open"]) for post in posts))
        assert [answer.status_code for answer in answers] == [200, 200]
        check(note, 1)


def test_two_reviewers_share_a_note(world, at_once):
    """Each decides on half of the proposals, all at once."""
    run = world.runs[0]
    for _ in range(TRIALS):
        note = note_of(world)
        spans = proposals(note, run)
        calls = [
            partial(poster((world.rita, world.rosa)[at % 2], note, run), act, proposal=span.pk, seen=["open"])
            for at, (span, act) in enumerate(zip(spans, ["accept", "reject", "accept", "accept"], strict=True))
        ]
        assert [answer.status_code for answer in at_once(*calls)] == [200] * 4
        check(note, 4)
        assert Review.objects.filter(document=note).count() == 1


def test_the_same_change_posted_twice_at_once(world, at_once):
    run = world.runs[0]
    for trial in range(TRIALS):
        note = note_of(world)
        first, second, *_ = proposals(note, run)
        posts = [poster(world.rita, note, run) for _ in range(2)]
        if trial % 2:
            posts[0]("accept", proposal=second.pk, seen=["open"])
        change = str(uuid.uuid4())
        answers = at_once(
            *(partial(post, "accept", proposal=first.pk, seen=["open"], change_id=change) for post in posts)
        )
        assert [answer.status_code for answer in answers] == [200, 200]
        assert answers[0].json()["proposals"] == answers[1].json()["proposals"]
        check(note, 1 + trial % 2)


def test_an_undo_posted_twice_at_once_takes_back_one_decision(world, at_once):
    run = world.runs[0]
    for _ in range(TRIALS):
        note = note_of(world)
        posts = [poster(world.rita, note, run) for _ in range(2)]
        for span in proposals(note, run)[:3]:
            posts[0]("accept", proposal=span.pk, seen=["open"])
        change = str(uuid.uuid4())
        answers = at_once(*(partial(post, "undo", change_id=change) for post in posts))
        assert [answer.status_code for answer in answers] == [200, 200]
        assert check(note, 4).spans.count() == 2


def test_the_same_span_is_accepted_in_two_runs_at_once(world, at_once):
    """Both acceptances stand on one gold span; taking one back leaves the other its span."""
    for _ in range(TRIALS):
        note = note_of(world)
        calls = [
            partial(poster(user, note, run), "accept", proposal=proposals(note, run)[0].pk, seen=["open"])
            for user, run in zip((world.rita, world.rosa), world.runs, strict=True)
        ]
        assert [answer.status_code for answer in at_once(*calls)] == [200, 200]
        gold = check(note, 2)
        assert gold.spans.count() == 1
        assert Decision.objects.filter(review__document=note).count() == 2
        assert poster(world.rita, note, world.runs[0])("undo").status_code == 200
        assert check(note, 3).spans.count() == 1


def test_a_span_is_added_by_two_at_once(world, at_once):
    run = world.runs[0]
    for _ in range(TRIALS):
        note = note_of(world)
        place = {"start": 13, "end": 20, "label": world.labels["AGE"], "quote": "54 anni"}
        answers = at_once(*(partial(poster(user, note, run), "add", **place) for user in (world.rita, world.rosa)))
        assert [answer.status_code for answer in answers] == [200, 200]
        gold = AnnotationSet.objects.get(document=note, author__kind="gold")
        assert (gold.spans.count(), gold.version) == (1, 1)


def test_closing_while_somebody_decides(world, at_once):
    """Either the decision came first and is in the closed gold, or the note was closed first and it is refused."""
    run = world.runs[0]
    for _ in range(TRIALS):
        note = note_of(world)
        rita, rosa = (poster(user, note, run) for user in (world.rita, world.rosa))
        spans = proposals(note, run)
        for span in spans:
            rita("accept", proposal=span.pk, seen=["open"])
        seen = ["accepted", spans[0].start, spans[0].end, spans[0].label_id]
        closed, decided = at_once(
            partial(poster(world.rita, note, run, "review_close")),
            partial(rosa, "reject", proposal=spans[0].pk, seen=seen),
        )
        assert closed.status_code == 200
        assert decided.status_code in (200, 409)
        if decided.status_code == 409:
            assert decided.json()["error"] == "closed"
        gold = check(note, 4 + (decided.status_code == 200))
        assert gold.state == "submitted"
        event = Event.objects.get(document_id=note.pk, verb=Verb.REVIEW_CLOSED)
        assert event.data["spans"] == gold.spans.count()


def test_a_double_close_is_one(world, at_once):
    run = world.runs[0]
    for _ in range(TRIALS):
        note = make.make_note(world.project, TEXT)
        make.make_set(note, run, [], submitted=True)
        posts = [poster(user, note, run, "review_close") for user in (world.rita, world.rosa)]
        assert [answer.status_code for answer in at_once(*posts)] == [200, 200]
        assert Event.objects.filter(document_id=note.pk, verb=Verb.REVIEW_CLOSED).count() == 1
        assert Review.objects.get(document=note).found_empty


@pytest.mark.parametrize("rule", ["open", "blind"])
def test_two_people_close_one_note_at_once_and_neither_stands_for_the_other(world, at_once, rule):
    """Both had the first review before them: one hands the note on, the other is told. As seconds, one closes it."""
    type(world.project).objects.update(second_review=rule)
    third = make.make_member(world.project, "reviewer", "ugo")
    run = world.runs[0]
    for _ in range(TRIALS // 2):
        note = make.make_note(world.project, TEXT)
        make.make_set(note, run, [], submitted=True)
        close = [partial(poster(user, note, run, "review_close"), stage="first") for user in (world.rita, world.rosa)]
        answers = sorted(at_once(*close), key=lambda answer: answer.status_code)
        assert [answer.status_code for answer in answers] == [200, 409]
        assert answers[1].json()["stage"] == "second"
        assert not Event.objects.filter(document_id=note.pk, verb=Verb.REVIEW_CLOSED).exists()
        first = Event.objects.get(document_id=note.pk, verb=Verb.REVIEW_HANDED).actor
        seconds = [user for user in (world.rita, world.rosa, third) if user != first]
        close = [partial(poster(user, note, run, "review_close"), stage="second") for user in seconds]
        assert [answer.status_code for answer in at_once(*close)] == [200, 200]
        assert Event.objects.filter(document_id=note.pk, verb=Verb.REVIEW_CLOSED).count() == 1
        assert Event.objects.filter(document_id=note.pk, verb=Verb.REVIEW_COMPARED).count() == 1


@pytest.fixture
def planting(world, monkeypatch) -> Callable[[], Document]:
    """Makes notes of which both runs' first proposal is planted, in reviews of the first run."""
    monkeypatch.setattr("annotations.domain.planting.chance", lambda *about: 0.0)
    Author.objects.filter(pk=world.runs[1].pk).update(name="crf-1")  # another backend's word
    type(world.project).objects.update(planted_share=20)
    return partial(note_of, world)


def test_a_planted_leak_is_drawn_once_and_shown_once_and_no_second_click_accepts_it(world, at_once, planting):
    run, people = world.runs[0], (world.rita, world.rosa)
    for _ in range(TRIALS // 2):
        note = planting()
        spans = proposals(note, run)
        clients = [Client() for _ in people]
        for client, user in zip(clients, people, strict=True):
            client.force_login(user)
        pages = [partial(client.get, reverse("review", args=["covid", run.pk, note.pk])) for client in clients]
        assert [len(answer.context["data"]["proposals"]) for answer in at_once(*pages)] == [3, 3]
        planted = PlantedLeak.objects.get(review__document=note)
        rest = named(world, spans)  # all there are, as if somebody knew
        close = [partial(poster(user, note, run, "review_close"), rest=rest) for user in people]
        answers = sorted(at_once(*close), key=lambda answer: answer.status_code)
        assert [answer.status_code for answer in answers] == [200, 409]
        assert [answer.json()["open"] for answer in answers] == [1, 1]
        assert Event.objects.filter(document_id=note.pk, verb=Verb.REVIEW_REVEALED).count() == 1
        assert not Decision.objects.filter(proposal=planted.proposal_id).exists()
        assert AnnotationSet.objects.get(document=note, author__kind="gold").spans.count() == 3
        assert Review.objects.get(document=note, author=run).closed_at is None


def test_one_marks_a_planted_leak_while_the_other_closes_the_note(world, at_once, planting):
    """It is found and the note is closed, or it is missed and nothing is left open; in gold it is either way."""
    run = world.runs[0]
    for _ in range(TRIALS // 2):
        note = planting()
        first = proposals(note, run)[0]
        draw_leaks(document=note, author=run, project=Project.objects.get())
        mark = {"start": first.start, "end": first.end, "label": first.label_id, "quote": "Mario Rossi"}
        rest = named(world, proposals(note, run))
        marked, closed = at_once(
            partial(poster(world.rita, note, run), "add", **mark),
            partial(poster(world.rosa, note, run, "review_close"), rest=rest),
        )
        assert (marked.status_code, closed.status_code) == (200, 200)
        planted = PlantedLeak.objects.get(review__document=note)
        done = Review.objects.get(document=note, author=run).closed_at is not None
        assert (planted.result, planted.reader) == (("found", world.rita) if done else ("missed", world.rosa))
        gold = AnnotationSet.objects.get(document=note, author__kind="gold")
        assert gold.spans.filter(start=first.start, end=first.end).exists()
        if not done:
            assert poster(world.rosa, note, run, "review_close")().json()["next"]
        assert Decision.objects.get(proposal=first).verdict == "accepted"


def planned(world: SimpleNamespace, user: User, run: Author, note: Document) -> BulkAct:
    """To accept what is open of the string that the run's first proposal in the note is."""
    first = proposals(note, run)[0]
    rule = Rule("string", [run.pk], string=first.string_key, label=first.label_id)
    return plan_bulk(project=world.project, user=user, rule=rule, act=BulkAct.Act.ACCEPT)


def carry_out(bulk: BulkAct) -> BulkAct:
    start_bulk(bulk=bulk, actor=bulk.user)
    bulk.refresh_from_db()
    return bulk


def test_a_string_is_accepted_in_bulk_while_another_rejects_it_in_a_note(world, at_once):
    """Whoever comes first, the person's own decision on the proposal stands or is told; nothing is lost or doubled."""
    run = world.runs[0]
    for _ in range(TRIALS):
        notes = [note_of(world) for _ in range(4)]
        note = notes[2]
        first = proposals(note, run)[0]
        rosa = poster(world.rosa, note, run)
        plan = planned(world, world.rita, run, note)
        bulk, answer = at_once(
            partial(carry_out, plan),
            partial(rosa, "reject", proposal=first.pk, seen=["open"]),
        )
        decision = Decision.objects.get(proposal=first)
        if answer.status_code == 200:
            assert (decision.reviewer, decision.verdict, decision.cause) == (world.rosa, "rejected", None)
            assert (bulk.decided, bulk.left) == (3, 1)
        else:
            assert answer.json()["message"].startswith("Rita accepted this proposal meanwhile")
            assert (decision.reviewer, decision.cause) == (world.rita, bulk)
            # She sees it now, and her word is the last.
            seen = ["accepted", first.start, first.end, first.label_id]
            assert rosa("reject", proposal=first.pk, seen=seen).status_code == 200
        assert Decision.objects.get(proposal=first).reviewer == world.rosa
        for each in notes:
            gold = AnnotationSet.objects.get(document=each, author__kind="gold")
            assert gold.spans.count() == (each != note)
        Document.objects.filter(pk__in=[each.pk for each in notes]).delete()


def test_two_bulk_acts_over_the_same_notes_at_once(world, at_once):
    run = world.runs[0]
    for _ in range(TRIALS):
        notes = [note_of(world) for _ in range(3)]
        plans = [planned(world, user, run, notes[0]) for user in (world.rita, world.rosa)]
        acts = at_once(*(partial(carry_out, plan) for plan in plans))
        assert sum(act.decided for act in acts) == 3
        assert sum(act.left for act in acts) == 3
        for note in notes:
            check(note, 1)
        Document.objects.filter(pk__in=[note.pk for note in notes]).delete()


@pytest.mark.parametrize("planned_late", [False, True])
def test_a_bulk_acceptance_while_another_makes_adjudicated_gold(world, at_once, planned_late):
    """Whoever comes first: adjudicated gold holds what the adjudicator said, and nothing is accepted beside it."""
    run = world.runs[0]
    adjudicator = make.make_author(world.project, kind="adjudicated", name="adjudicated")
    for _ in range(TRIALS):
        note = note_of(world)
        own = make.make_set(note, adjudicator, [(0, 5, "PATIENT")], submitted=True)
        plan = planned(world, world.rita, run, note)
        client = Client()
        client.force_login(world.rosa)
        gold = partial(
            client.post, reverse("note_gold", args=["covid", note.pk]), {"set": own.pk, "version": own.version}
        )
        if planned_late:  # gold is there when the act begins, and was not when it was planned
            gold()
        bulk, answer = at_once(partial(carry_out, plan), gold)
        made = Event.objects.filter(document_id=note.pk, verb=Verb.GOLD_MADE).exists()
        there = list(
            Span.objects.filter(annotation_set__document=note, annotation_set__author__kind="gold").values_list(
                "start", "end"
            )
        )
        if made:
            assert there == [(0, 5)], "the adjudicator's, and nothing else"
            assert (bulk.decided, bulk.skipped, bulk.skipped_notes, bulk.left) == (0, 1, 1, 1)
        else:
            assert there == [(0, 11)], "the act's; making gold was refused and said so"
            assert (bulk.decided, bulk.skipped) == (1, 0)
            assert "replace it explicitly" in next(str(m) for m in client.get(answer.url).context["messages"])
        assert made or not planned_late
        note.delete()  # the next trial's string is this one's too
