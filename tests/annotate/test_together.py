"""Simultaneous requests with real connections and commits: nothing is lost or made twice."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from hypothesis import settings

from annotations.models import AnnotationSet, Assignment, Author, Document, Event, Span, User
from tests import factories as make
from tests.annotate.conftest import TEXT, alter, create, label_ids, step

pytestmark = pytest.mark.both_databases

# Few in `make test`, which tries them on both databases, and more at night.
TRIALS = max(2, settings.default.max_examples // 15)


@pytest.fixture
def world(transactional_db: None) -> SimpleNamespace:
    project = make.make_project("covid")
    ann, ben = (make.make_member(project, user=name) for name in ("ann", "ben"))
    return SimpleNamespace(project=project, ann=ann, ben=ben, labels=label_ids(project))


def note_of(world: SimpleNamespace) -> Document:
    return make.make_note(world.project, TEXT, annotators=[world.ann, world.ben])


def notes_of(world: SimpleNamespace) -> Iterator[Document]:
    """A note for each trial."""
    return (note_of(world) for _ in range(TRIALS))


def poster(user: User, note: Document, name: str = "changes") -> Callable[[dict[str, Any]], Any]:
    client = Client()
    client.force_login(user)
    path = reverse(name, args=[note.project.slug, note.pk])
    return lambda data: client.post(path, json.dumps(data | {"person": user.pk}), content_type="application/json")


def all_done(answers: list[Any]) -> list[Any]:
    assert {answer.status_code for answer in answers} == {200}
    return answers


def check(note: Document, user: User, spans: int, events: int) -> None:
    """The rows, the log and the version of the set agree."""
    annotation_set = AnnotationSet.objects.get(document=note, author__user=user)
    assert annotation_set.spans.count() == spans
    assert Event.objects.filter(annotation_set_id=annotation_set.pk, verb__startswith="span.").count() == events
    assert annotation_set.version == events
    assert Author.objects.filter(user=user).count() == 1


@pytest.mark.parametrize("first", [True, False], ids=["first span", "later span"])
def test_the_same_change_posted_twice_at_once(world: SimpleNamespace, at_once: Any, first: bool) -> None:
    for note in notes_of(world):
        posts = [poster(world.ann, note) for _ in range(2)]
        if not first:
            posts[0](create(note, world.labels, "54", "AGE"))
        data = create(note, world.labels, "Torino", "CITY")
        answers = all_done(at_once(*(partial(post, data) for post in posts)))
        assert answers[0].json()["span"] == answers[1].json()["span"]
        check(note, world.ann, 2 - first, 2 - first)


def test_two_tabs_make_the_same_span_at_once(world: SimpleNamespace, at_once: Any) -> None:
    for note in notes_of(world):
        calls = [partial(poster(world.ann, note), create(note, world.labels, "Torino", "CITY")) for _ in range(2)]
        answers = all_done(at_once(*calls))
        assert answers[0].json()["span"] == answers[1].json()["span"]
        assert sorted(answer.json().get("already", False) for answer in answers) == [False, True]
        check(note, world.ann, 1, 1)


def test_two_tabs_change_the_same_span_at_once(world: SimpleNamespace, at_once: Any) -> None:
    for trial, note in enumerate(notes_of(world)):
        posts = [poster(world.ann, note) for _ in range(2)]
        span = posts[0](create(note, world.labels, "Torino", "CITY")).json()["span"]
        first = alter("relabel", span, label=world.labels["HOSPITAL"])
        second = alter("delete", span) if trial % 2 else alter("relabel", span, label=world.labels["AGE"])
        answers = at_once(partial(posts[0], first), partial(posts[1], second))
        assert sorted(answer.status_code for answer in answers) == [200, 409]
        check(note, world.ann, Span.objects.filter(annotation_set__document=note).count(), 2)


def test_an_undo_posted_twice_at_once_undoes_one_change(world: SimpleNamespace, at_once: Any) -> None:
    for note in notes_of(world):
        posts = [poster(world.ann, note) for _ in range(2)]
        for part, label in (("Torino", "CITY"), ("54", "AGE"), ("Bianchi", "DOCTOR")):
            posts[0](create(note, world.labels, part, label))
        data = step("undo")
        answers = all_done(at_once(*(partial(post, data) for post in posts)))
        assert answers[0].json()["removed"] == answers[1].json()["removed"]
        check(note, world.ann, 2, 4)


def test_submitting_while_a_span_is_made(world: SimpleNamespace, at_once: Any) -> None:
    for note in notes_of(world):
        submit, post = poster(world.ann, note, "submit"), poster(world.ann, note)
        data = create(note, world.labels, "Torino", "CITY")
        submitted, made = at_once(partial(submit, {}), partial(post, data))
        assert submitted.status_code == 200
        assert made.status_code in (200, 409)
        annotation_set = AnnotationSet.objects.get(document=note)
        assert annotation_set.state == "submitted"
        assert annotation_set.spans.count() == (made.status_code == 200)
        assert Assignment.objects.get(document=note, user=world.ann).state == "done"


def test_eight_clients_lose_and_double_nothing(world: SimpleNamespace, at_once: Any) -> None:
    notes = [note_of(world) for _ in range(4)]
    each = 12

    def work(user: User, note: Document) -> list[int]:
        post = poster(user, note)
        places = [at for at in range(len(TEXT)) if TEXT[at] != " "][:each]
        label = world.labels["AGE"]
        changes = [step("create", start=at, end=at + 1, label=label, quote=TEXT[at]) for at in places]
        return [post(change).status_code for change in changes]

    pairs = [(user, note) for user in (world.ann, world.ben) for note in notes]
    done = at_once(*(partial(work, *pair) for pair in pairs))
    assert done == [[200] * each] * 8
    for user, note in pairs:
        check(note, user, each, each)
