"""Simultaneous requests with real connections and commits: nothing is lost or made twice."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from django.urls import reverse
from hypothesis import settings

from annotations.models import AnnotationSet, Assignment, Author, Document, Event, Label, Project, Span, User
from annotations.projects.services.labels import add_label, merge_labels
from tests import factories as make
from tests.annotate.conftest import PARTS, TEXT, alter, create, label_ids, many, step
from tests.worlds.pages import signed_in

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
    client = signed_in(user)
    path = reverse(name, args=[note.project.slug, note.pk])
    return lambda data: client.post(path, json.dumps(data | {"person": user.pk}), content_type="application/json")


def all_done(answers: list[Any]) -> list[Any]:
    assert {answer.status_code for answer in answers} == {200}
    return answers


def check(note: Document, user: User, spans: int, events: int) -> None:
    """The rows, the log and the version of the set agree."""
    annotation_set = AnnotationSet.objects.get(document=note, author__user=user)
    assert annotation_set.spans.count() == spans
    assert Event.objects.filter(annotation_set_id=annotation_set.pk, verb__startswith="span").count() == events
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
    assert at_once(*(partial(work, *pair) for pair in pairs)) == [[200] * each] * 8
    for user, note in pairs:
        check(note, user, each, each)


# ── While labels are merged and annotations are started ──


def many_of(world: SimpleNamespace, note: Document, parts: Any = PARTS) -> dict[str, Any]:
    return many(SimpleNamespace(**vars(world) | {"note": note}), parts)


def test_the_same_many_posted_twice_at_once(world: SimpleNamespace, at_once: Any) -> None:
    for note in notes_of(world):
        posts = [poster(world.ann, note) for _ in range(2)]
        data = many_of(world, note)
        answers = all_done(at_once(*(partial(post, data) for post in posts)))
        assert answers[0].json()["made"] == answers[1].json()["made"]
        check(note, world.ann, 4, 1)


@pytest.fixture
def merges(world: SimpleNamespace) -> Callable[[], tuple[int, Callable[[], Any]]]:
    """Make a label; return its id and a function that merges it into CITY."""

    def make_one() -> tuple[int, Callable[[], Any]]:
        project = Project.objects.get(pk=world.project.pk)
        target = make.label_of(project, "CITY")
        name = f"T{Label.objects.count()}"
        source = add_label(label_set=project.label_set, category=target.category, name=name, actor=None)
        return source.pk, lambda: merge_labels(source=source, target=target, actor=None)

    return make_one


def test_many_while_their_label_is_merged(world: SimpleNamespace, at_once: Any, merges: Any) -> None:
    for trial, note in enumerate(notes_of(world)):
        label, merge = merges()
        data = many_of(world, note)
        for each in data["spans"][:3]:
            each["label"] = label
        calls = [partial(poster(world.ann, note), data), merge]
        made, _ = at_once(*(calls if trial % 2 else calls[::-1]))[:: 1 if trial % 2 else -1]
        all_done([made])
        assert AnnotationSet.objects.get(document=note).spans.count() == 4
        assert not Span.objects.filter(label_id=label).exists()


def test_one_while_its_label_is_merged(world: SimpleNamespace, at_once: Any, merges: Any) -> None:
    for trial, note in enumerate(notes_of(world)):
        label, merge = merges()
        post = poster(world.ann, note)
        if trial % 2:
            shown = post(create(note, world.labels, "Torino", "AGE")).json()["span"]
            data = alter("relabel", shown, label=label)
        else:
            data = create(note, {"NEW": label}, "Torino", "NEW")
        made, _ = at_once(partial(post, data), merge)
        all_done([made])
        assert AnnotationSet.objects.get(document=note).spans.get().label_id == world.labels["CITY"]


def test_a_note_opened_in_two_tabs_is_started_once(world: SimpleNamespace, at_once: Any, merges: Any) -> None:
    run = make.make_author(world.project, kind="run", name="rules-1")
    Project.objects.update(seed_from=run)
    for trial, note in enumerate(notes_of(world)):
        label, merge = merges()
        made = make.make_set(note, run, [(0, 11, "PATIENT"), (13, 15, "AGE")], submitted=True)
        Span.objects.create(annotation_set=made, start=20, end=24, label_id=label)
        calls = [partial(poster(world.ann, note, "start_annotations"), {}) for _ in range(2)]
        if trial % 2:
            calls.append(merge)
        answers = at_once(*calls)[:2]
        assert [answer.status_code for answer in answers] == [200, 200]
        assert [len(answer.json()["spans"]) for answer in answers] == [3, 3]
        annotation_set = AnnotationSet.objects.get(document=note, author__user=world.ann)
        assert (annotation_set.seeded, annotation_set.spans.count()) == (True, 3)
        assert Event.objects.filter(document_id=note.pk, verb="set.seeded").count() == 1
        assert not (trial % 2 and Span.objects.filter(label_id=label).exists())


def test_a_first_span_while_the_annotations_are_started(world: SimpleNamespace, at_once: Any) -> None:
    """Whichever request comes first starts the set from the run; neither the run's spans nor the new span are lost."""
    run = make.make_author(world.project, kind="run", name="rules-1")
    Project.objects.update(seed_from=run)
    for note in notes_of(world):
        make.make_set(note, run, [(0, 11, "PATIENT")], submitted=True)
        change = create(note, label_ids(world.project), "Torino", "CITY", version=0)
        started, made = at_once(
            partial(poster(world.ann, note, "start_annotations"), {}), partial(poster(world.ann, note), change)
        )
        assert [started.status_code, made.status_code] == [200, 200]
        annotation_set = AnnotationSet.objects.get(document=note, author__user=world.ann)
        assert (annotation_set.seeded, annotation_set.spans.count()) == (True, 2)
        # The page that made the change gets the run's spans too.
        assert (made.json()["changed_elsewhere"], len(made.json()["spans"])) == (True, 2)
        assert Event.objects.filter(document_id=note.pk, verb="set.seeded").count() == 1
