"""Many spans at once, deletes, undo, submits, openings and merges of labels at one moment: what must hold afterwards.

Each trial lets requests start together, with connections of their own, and then looks at the rows and at the log: the
spans are what the log makes of them, no span has a label that is gone, and nothing is there twice.
"""

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest

from annotations.models import AnnotationSet, Document, Event, Label, Project, Span, User
from annotations.projects.services.labels import add_label, merge_labels
from tests import factories as make
from tests.annotate.conftest import PARTS, alter, create, label_ids, many
from tests.annotate.test_together import notes_of, poster, world

pytestmark = pytest.mark.both_databases

__all__ = ["world"]  # fixtures

Answers = list[Any]


def many_of(world: SimpleNamespace, note: Document, parts: Any = PARTS) -> dict[str, Any]:
    return many(SimpleNamespace(**vars(world) | {"note": note}), parts)


def ok(answers: Answers) -> list[int]:
    """The statuses; a conflict must have a message and the current spans."""
    for answer in answers:
        if answer.status_code == 409:
            body = answer.json()
            assert body["message"] and body["error"] and "spans" in body, body
    return [answer.status_code for answer in answers]


def from_log(annotation_set: AnnotationSet) -> dict[int, tuple[int, int, int]]:
    """The spans of a set as its log tells them, by id, with merged labels replaced."""
    today = {pk: into or pk for pk, into in Label.objects.values_list("pk", "merged_into")}
    spans: dict[int, tuple[int, int, int]] = {}
    for event in Event.objects.filter(annotation_set_id=annotation_set.pk).order_by("pk"):
        data = event.data
        for pk, start, end, label in data.get("spans", []) if isinstance(data.get("spans"), list) else []:
            if event.verb == "spans.created":
                spans[pk] = (start, end, today[label])
            else:
                spans.pop(pk, None)
        if event.verb.startswith("span.") and event.verb != "span.undo_skipped":
            spans.pop(data["span"], None)
            if data["after"]:
                start, end, label = data["after"]
                spans[data["span"]] = (start, end, today[label])
    return spans


def check(note: Document, user: User) -> AnnotationSet:
    """The rows agree with the log, and no span has a merged label."""
    annotation_set = AnnotationSet.objects.get(document=note, author__user=user)
    rows = {span.pk: (span.start, span.end, span.label_id) for span in annotation_set.spans.all()}
    assert set(rows.values()) == set(from_log(annotation_set).values())
    assert len(set(rows.values())) == len(rows)
    assert not Span.objects.filter(label__merged_into__isnull=False).exists()
    changes = Event.objects.filter(annotation_set_id=annotation_set.pk).exclude(verb="set.seeded").count()
    assert annotation_set.version >= changes
    return annotation_set


def test_the_same_many_posted_twice_at_once(world: SimpleNamespace, at_once: Any) -> None:
    for note in notes_of(world):
        posts = [poster(world.ann, note) for _ in range(2)]
        data = many_of(world, note)
        answers = at_once(*(partial(post, data) for post in posts))
        assert ok(answers) == [200, 200]
        assert answers[0].json()["made"] == answers[1].json()["made"]
        assert check(note, world.ann).spans.count() == 4
        assert Event.objects.filter(document_id=note.pk).count() == 1


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
        assert ok([made]) == [200]
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
        assert ok([made]) == [200]
        assert check(note, world.ann).spans.get().label_id == world.labels["CITY"]


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
