"""Simultaneous reviewers with real connections and commits: no decision is lost or made twice."""

import json
import uuid
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from django.urls import reverse
from hypothesis import settings

from annotations import models
from annotations.gold.events import GOLD_MADE
from annotations.review import events as review_events
from annotations.review.selectors.bulk_rules import BulkRule
from annotations.review.selectors.planted import aliases
from annotations.review.services.bulk import plan_bulk, start_bulk
from annotations.review.services.planting import draw_leaks
from tests import factories as make
from tests.worlds.pages import signed_in
from tests.worlds.reviewing import gold_of, suggestions

pytestmark = pytest.mark.both_databases

# Few in `make test`, which tries them on both databases, and more at night.
TRIALS = max(2, settings.default.max_examples // 15)
TEXT = "Mario Rossi, 54 anni, visto a Torino dal dott. Bianchi."
SPANS = [(0, 11, "PATIENT"), (13, 15, "AGE"), (30, 36, "HOSPITAL"), (47, 54, "DOCTOR")]


@pytest.fixture
def world(transactional_db: None) -> SimpleNamespace:
    project = make.make_project("covid")
    rita, rosa = (make.make_member(project, "reviewer", name) for name in ("rita", "rosa"))
    runs = [make.make_author(project, kind="run", name=name) for name in ("rules-1", "rules-2")]
    labels = {label.name: label.pk for label in project.label_set.labels.all()}
    return SimpleNamespace(project=project, rita=rita, rosa=rosa, runs=runs, labels=labels)


def note_of(world: SimpleNamespace) -> models.Document:
    """A note with the same suggestions of both runs."""
    note = make.make_note(world.project, TEXT)
    for run in world.runs:
        make.make_set(note, run, SPANS, submitted=True)
    return note


def statuses(answers: list[Any]) -> list[int]:
    return sorted(answer.status_code for answer in answers)


def posters(world: SimpleNamespace, note: models.Document, name: str = "review_decide") -> list[Callable[..., Any]]:
    """What rita and rosa do in the review of the first run."""
    return [poster(user, note, world.runs[0], name) for user in (world.rita, world.rosa)]


def aliases_of(world: SimpleNamespace, spans: list[models.Span]) -> list[int]:
    """The aliases of these spans on review pages."""
    return [aliases(world.project).of(span.pk) for span in spans]


def poster(
    user: models.User, note: models.Document, run: models.Author, name: str = "review_decide"
) -> Callable[..., Any]:
    client = signed_in(user)
    path = reverse(name, args=[note.project.slug, run.pk, note.pk])

    def post(act: str = "", **data: Any) -> Any:
        known = {"act": act, "change_id": str(uuid.uuid4()), "person": user.pk}
        return client.post(path, json.dumps(known | data), content_type="application/json")

    return post


def check(note: models.Document, decided: int) -> models.AnnotationSet:
    """Check that gold holds what was accepted, and that its version and the log count the same decisions."""
    gold = models.AnnotationSet.objects.get(document=note, author__kind="gold")
    events = models.Event.objects.filter(
        annotation_set_id=gold.pk, verb__in=[review_events.REVIEW_DECIDED, review_events.REVIEW_UNDONE]
    )
    assert events.count() == gold.version == decided
    accepted = models.Decision.objects.filter(review__document=note, verdict="accepted").values_list(
        "start", "end", "label_id"
    )
    assert set(gold.spans.values_list("start", "end", "label_id")) == set(accepted)
    return gold


def test_two_reviewers_decide_differently_on_one_suggestion(world, at_once):
    """The first decision wins. The second reviewer is told and can decide again."""
    for trial in range(TRIALS):
        note = note_of(world)
        first, second, *_ = suggestions(note, world.runs[0])
        rita, rosa = posters(world, note)
        if trial % 2:  # the gold set exists already
            rita("accept", suggestion=second.pk, seen=["open"])
        answers = at_once(
            partial(rita, "accept", suggestion=first.pk, seen=["open"]),
            partial(rosa, "reject", suggestion=first.pk, seen=["open"]),
        )
        assert statuses(answers) == [200, 409]
        won = "rita" if answers[0].status_code == 200 else "rosa"
        refused = answers[1 if won == "rita" else 0].json()
        assert (refused["error"], refused["suggestions"][0]["by"]) == ("moved", won)
        assert refused["message"].casefold().startswith(f"{won} ")
        assert models.Decision.objects.get(suggestion_id=first.pk).reviewer.username == won
        check(note, 1 + trial % 2)


def test_the_same_span_is_accepted_in_two_runs_at_once(world, at_once):
    """Both acceptances share one gold span; undoing one keeps the span for the other."""
    for _ in range(TRIALS):
        note = note_of(world)
        calls = [
            partial(poster(user, note, run), "accept", suggestion=suggestions(note, run)[0].pk, seen=["open"])
            for user, run in zip((world.rita, world.rosa), world.runs, strict=True)
        ]
        assert statuses(at_once(*calls)) == [200, 200]
        assert check(note, 2).spans.count() == 1
        assert models.Decision.objects.filter(review__document=note).count() == 2
        assert poster(world.rita, note, world.runs[0])("undo").status_code == 200
        assert check(note, 3).spans.count() == 1


def test_finishing_while_another_person_decides(world, at_once):
    """Either the decision comes first and is in the finished gold, or the review is finished first and refuses it."""
    for _ in range(TRIALS):
        note = note_of(world)
        rita, rosa = posters(world, note)
        spans = suggestions(note, world.runs[0])
        for span in spans:
            rita("accept", suggestion=span.pk, seen=["open"])
        seen = ["accepted", spans[0].start, spans[0].end, spans[0].label_id]
        finished, decided = at_once(
            poster(world.rita, note, world.runs[0], "review_finish"),
            partial(rosa, "reject", suggestion=spans[0].pk, seen=seen),
        )
        assert finished.status_code == 200
        assert decided.status_code == 200 or (decided.status_code, decided.json()["error"]) == (409, "finished")
        gold = check(note, 4 + (decided.status_code == 200))
        assert gold.state == "submitted"
        event = models.Event.objects.get(document_id=note.pk, verb=review_events.REVIEW_FINISHED)
        assert event.data["spans"] == gold.spans.count()


def empty_note(world: SimpleNamespace) -> models.Document:
    note = make.make_note(world.project, TEXT)
    make.make_set(note, world.runs[0], [], submitted=True)
    return note


@pytest.mark.parametrize("rule", ["open", "blind"])
def test_two_people_finish_at_once_and_neither_counts_as_the_second(world, at_once, rule):
    """Two first reviewers finish at once: one hands the note over, the other gets a conflict.

    Of two second reviewers, one finishes.
    """
    type(world.project).objects.update(second_review=rule)
    third = make.make_member(world.project, "reviewer", "ugo")
    for _ in range(TRIALS // 2):
        note = empty_note(world)
        events = models.Event.objects.filter(document_id=note.pk)
        answers = at_once(*(partial(post, stage="first") for post in posters(world, note, "review_finish")))
        assert statuses(answers) == [200, 409]
        assert max(answers, key=lambda answer: answer.status_code).json()["stage"] == "second"
        assert not events.filter(verb=review_events.REVIEW_FINISHED).exists()
        first = events.get(verb=review_events.REVIEW_HANDED_OVER).actor
        seconds = [user for user in (world.rita, world.rosa, third) if user != first]
        posts = [poster(user, note, world.runs[0], "review_finish") for user in seconds]
        assert statuses(at_once(*(partial(post, stage="second") for post in posts))) == [200, 200]
        assert [
            events.filter(verb=verb).count() for verb in (review_events.REVIEW_FINISHED, review_events.REVIEW_COMPARED)
        ] == [1, 1]


@pytest.fixture
def planting(world, monkeypatch) -> Callable[[], models.Document]:
    """A function that makes notes whose first suggestion is a planted leak in the review of the first run."""
    monkeypatch.setattr("annotations.review.rules.planting.chance", lambda *about: 0.0)
    models.Author.objects.filter(pk=world.runs[1].pk).update(name="crf-1")  # a run of another backend
    type(world.project).objects.update(planted_share=20)

    def made() -> models.Document:
        note = note_of(world)
        draw_leaks(world.runs[0], [note.pk])
        return note

    return made


def test_a_planted_leak_is_shown_once_and_no_second_click_accepts_it(world, at_once, planting):
    run = world.runs[0]
    for _ in range(TRIALS // 2):
        note = planting()
        planted = models.PlantedLeak.objects.get(review__document=note)
        rest = aliases_of(world, suggestions(note, run))  # including the hidden one
        answers = at_once(*(partial(post, rest=rest) for post in posters(world, note, "review_finish")))
        assert statuses(answers) == [200, 409]
        assert [answer.json()["open"] for answer in answers] == [1, 1]
        assert models.Event.objects.filter(document_id=note.pk, verb=review_events.REVIEW_REVEALED).count() == 1
        assert not models.Decision.objects.filter(suggestion=planted.suggestion_id).exists()
        assert models.AnnotationSet.objects.get(document=note, author__kind="gold").spans.count() == 3
        assert models.Review.objects.get(document=note, author=run).finished_at is None


def test_one_marks_a_planted_leak_while_the_other_finishes(world, at_once, planting):
    """The leak is found and the review finished, or it is missed and then decided; in both cases it is in gold."""
    run = world.runs[0]
    for _ in range(TRIALS // 2):
        note = planting()
        first = suggestions(note, run)[0]
        mark = {"start": first.start, "end": first.end, "label": first.label_id, "quote": "Mario Rossi"}
        rest = aliases_of(world, suggestions(note, run))
        marked, finished = at_once(
            partial(poster(world.rita, note, run), "add", **mark),
            partial(poster(world.rosa, note, run, "review_finish"), rest=rest),
        )
        assert (marked.status_code, finished.status_code) == (200, 200)
        planted = models.PlantedLeak.objects.get(review__document=note)
        done = models.Review.objects.get(document=note, author=run).finished_at is not None
        assert (planted.result, planted.reviewer) == (("found", world.rita) if done else ("missed", world.rosa))
        gold = models.AnnotationSet.objects.get(document=note, author__kind="gold")
        assert gold.spans.filter(start=first.start, end=first.end).exists()
        if not done:
            assert poster(world.rosa, note, run, "review_finish")().json()["next"]
        assert models.Decision.objects.get(suggestion=first).verdict == "accepted"


def planned(world: SimpleNamespace, user: models.User, run: models.Author, note: models.Document) -> models.BulkAct:
    """A planned act that accepts the string of the run's first suggestion in the note."""
    first = suggestions(note, run)[0]
    rule = BulkRule("string", [run.pk], string=first.string_key, label=first.label_id)
    return plan_bulk(project=world.project, user=user, rule=rule, act=models.BulkAct.Act.ACCEPT)


def run_act(bulk: models.BulkAct) -> models.BulkAct:
    start_bulk(bulk=bulk, actor=bulk.user)
    return make.reread(bulk)


def test_a_string_is_accepted_in_bulk_while_another_rejects_it_in_a_note(world, at_once):
    """Whoever comes first, the person's decision is kept or refused with a message; nothing is lost or made twice."""
    run = world.runs[0]
    for _ in range(TRIALS):
        notes = [note_of(world) for _ in range(4)]
        note = notes[2]
        first = suggestions(note, run)[0]
        rosa = poster(world.rosa, note, run)
        plan = planned(world, world.rita, run, note)
        bulk, answer = at_once(partial(run_act, plan), partial(rosa, "reject", suggestion=first.pk, seen=["open"]))
        decision = models.Decision.objects.get(suggestion=first)
        if answer.status_code == 200:
            assert (decision.reviewer, decision.verdict, decision.cause) == (world.rosa, "rejected", None)
            assert (bulk.decided, bulk.left) == (3, 1)
        else:
            assert answer.json()["message"].casefold().startswith("rita decided on this meanwhile")
            assert (decision.reviewer, decision.cause) == (world.rita, bulk)
            # She has seen it now, so her next decision replaces it.
            seen = ["accepted", first.start, first.end, first.label_id]
            assert rosa("reject", suggestion=first.pk, seen=seen).status_code == 200
        assert models.Decision.objects.get(suggestion=first).reviewer == world.rosa
        for each in notes:
            gold = models.AnnotationSet.objects.get(document=each, author__kind="gold")
            assert gold.spans.count() == (each != note)
        models.Document.objects.filter(pk__in=[each.pk for each in notes]).delete()


def test_two_bulk_acts_over_the_same_notes_at_once(world, at_once):
    run = world.runs[0]
    for _ in range(TRIALS):
        notes = [note_of(world) for _ in range(3)]
        plans = [planned(world, user, run, notes[0]) for user in (world.rita, world.rosa)]
        acts = at_once(*(partial(run_act, plan) for plan in plans))
        assert sum(act.decided for act in acts) == 3
        assert sum(act.left for act in acts) == 3
        for note in notes:
            check(note, 1)
        models.Document.objects.filter(pk__in=[note.pk for note in notes]).delete()


@pytest.mark.parametrize("planned_late", [False, True])
def test_a_bulk_acceptance_while_another_makes_adjudicated_gold(world, at_once, sign_in, planned_late):
    """Whoever comes first, adjudicated gold holds the adjudicator's spans, and nothing is accepted beside them."""
    run = world.runs[0]
    adjudicator = make.make_author(world.project, kind="adjudicated", name="adjudicated")
    for _ in range(TRIALS):
        note = note_of(world)
        own = make.make_set(note, adjudicator, [(0, 5, "PATIENT")], submitted=True)
        plan = planned(world, world.rita, run, note)
        client = sign_in(world.rosa)
        chosen = {"set": own.pk, "version": own.version}
        gold = partial(client.post, reverse("note_gold", args=["covid", note.pk]), chosen)
        if planned_late:  # gold is made between the planning and the start of the act
            gold()
        bulk, answer = at_once(partial(run_act, plan), gold)
        made = models.Event.objects.filter(document_id=note.pk, verb=GOLD_MADE).exists()
        gold_spans = [span[:2] for span in gold_of(note)]
        if made:
            assert gold_spans == [(0, 5)], "only the adjudicator's span"
            assert (bulk.decided, bulk.skipped, bulk.skipped_notes, bulk.left) == (0, 1, 1, 1)
        else:
            assert gold_spans == [(0, 11)], "only the span of the act; making gold was refused"
            assert (bulk.decided, bulk.skipped) == (1, 0)
            assert "A review of this note is open" in next(str(m) for m in client.get(answer.url).context["messages"])
        assert made or not planned_late
        note.delete()  # the next trial uses the same string
