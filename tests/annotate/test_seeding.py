"""Annotation sets that begin from a run's spans, where the project says so; agreement leaves them out."""

from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.test import Client

from annotations.models import AnnotationSet, AnnotationSetState, Assignment, AuthorKind, Event, Project, Span
from tests import factories as make
from tests.annotate.conftest import alter, create, merge, step
from tests.annotate.test_views import post, url
from tests.worlds.pages import signed_in

SEEDED = "Began from the spans of rules-1."


@pytest.fixture
def seeded(world: SimpleNamespace) -> SimpleNamespace:
    """The world, with a run whose spans annotators begin from."""
    run = make.make_author(world.project, kind="run", name="rules-1")
    made = make.make_set(world.note, run, [(0, 11, "PATIENT"), (13, 15, "AGE")], submitted=True)
    Span.objects.filter(annotation_set=made, start=0).update(confidence=0.75, source="name-rule")
    Project.objects.update(seed_from=run)
    world.run, world.made = run, made
    return world


def opened(world: SimpleNamespace, user: Any = None, **over: Any) -> Any:
    return signed_in(user or world.ann).get(url(world, "note_data", **over)).json()


def started(world: SimpleNamespace, user: Any = None, **over: Any) -> Any:
    """Start a person's annotations as their page does; the note's data then."""
    client = signed_in(user or world.ann)
    answer = post(client, url(world, "start_annotations", **over), {})
    assert answer.status_code == 200
    data = client.get(url(world, "note_data", **over)).json()
    assert answer.json() == {key: data[key] for key in ("version", "seeded", "spans")} | {"state": "draft"}
    return data


def annotation_sets(world: SimpleNamespace) -> Any:
    return AnnotationSet.objects.filter(author__kind=AuthorKind.ANNOTATOR)


def test_the_first_start_begins_from_the_runs_spans(seeded: SimpleNamespace) -> None:
    data = started(seeded)
    assert [(span["start"], span["end"]) for span in data["spans"]] == [(0, 11), (13, 15)]
    assert (data["version"], data["state"], data["seeded"]) == (1, "draft", SEEDED)
    annotation_set = annotation_sets(seeded).get()
    assert (annotation_set.seeded, annotation_set.blind, annotation_set.author.user) == (True, True, seeded.ann)
    copied = list(annotation_set.spans.values_list("start", "end", "label__name", "confidence", "source"))
    assert copied == [(0, 11, "PATIENT", 0.75, "name-rule"), (13, 15, "AGE", None, "")]
    event = Event.objects.get(verb="set.seeded")
    assert event.data == {"from_set": seeded.made.pk, "author": seeded.run.pk, "spans": 2}
    assert (event.actor, event.annotation_set_id) == (seeded.ann, annotation_set.pk)
    assert started(seeded) == data
    assert Event.objects.filter(verb="set.seeded").count() == 1


def test_opening_a_note_starts_nothing(seeded: SimpleNamespace, ann: Client) -> None:
    page = ann.get(url(seeded, "annotate")).content.decode()
    assert 'data-state="unstarted"' in page and SEEDED not in page
    spans = url(seeded, "spans")
    for address in (url(seeded, "note_data"), url(seeded, "note_data") + "?ahead=1", spans, spans + "?opened=1"):
        answer = ann.get(address).json()
        assert (answer["spans"], answer["version"], answer["state"], answer["seeded"]) == ([], 0, "unstarted", "")
    assert ann.get(url(seeded, "start_annotations")).status_code == 405
    assert not annotation_sets(seeded).exists()
    assert not Event.objects.filter(verb="set.seeded").exists()
    # Without scripts the page's form does it.
    answer = ann.post(url(seeded, "start_annotations"), follow=True)
    assert answer.redirect_chain == [(url(seeded, "annotate"), 302)]
    assert SEEDED in answer.content.decode()


def test_a_change_to_a_set_that_was_not_started_starts_it(seeded: SimpleNamespace, ann: Client) -> None:
    change = create(seeded.note, seeded.labels, "Torino", "CITY", version=0)
    answer = post(ann, url(seeded, "changes"), change).json()
    assert (answer["version"], answer["changed_elsewhere"], answer["seeded"]) == (2, True, SEEDED)
    assert [span["start"] for span in answer["spans"]] == [0, 13, answer["span"]["start"]]
    again = post(ann, url(seeded, "changes"), change).json()
    assert (again["version"], again["span"], len(again["spans"])) == (2, answer["span"], 3)
    annotation_set = annotation_sets(seeded).get()
    assert (annotation_set.seeded, annotation_set.version, annotation_set.spans.count()) == (True, 2, 3)
    assert started(seeded)["spans"] == answer["spans"]


def test_nobody_submits_the_runs_spans_unseen(seeded: SimpleNamespace, ann: Client) -> None:
    answer = post(ann, url(seeded, "submit"), {"version": 0})
    assert (answer.status_code, answer.json()["error"], len(answer.json()["spans"])) == (409, "unseen", 2)
    assert (answer.json()["version"], answer.json()["state"]) == (1, "draft")
    assert post(ann, url(seeded, "submit"), {"version": 1}).status_code == 200
    # Without scripts the note is shown once more, with a message.
    form = signed_in(seeded.ben)
    answer = form.post(url(seeded, "submit"))
    assert answer.headers["Location"] == url(seeded, "annotate") and len(get_messages(answer.wsgi_request)) == 1
    assert annotation_sets(seeded).get(author__user=seeded.ben).state == "draft"
    form.post(url(seeded, "submit"))
    assert annotation_sets(seeded).get(author__user=seeded.ben).state == "submitted"


def test_who_begins_from_a_run_and_who_does_not(seeded: SimpleNamespace) -> None:
    for user in (seeded.ann, seeded.ben):
        assert started(seeded, user)["seeded"]
    # A reviewer or manager who just looks at the note starts nothing, until it is assigned to them.
    assert started(seeded, seeded.rev)["spans"] == []
    assert annotation_sets(seeded).count() == 2
    Assignment.objects.create(project=seeded.project, document=seeded.note, user=seeded.rev)
    assert len(started(seeded, seeded.rev)["spans"]) == 2
    assert not annotation_sets(seeded).get(author__user=seeded.rev).blind


def test_a_set_that_exists_stays_as_it_is(seeded: SimpleNamespace) -> None:
    Project.objects.update(seed_from=None)
    post(signed_in(seeded.ben), url(seeded, "changes"), create(seeded.note, seeded.labels, "Torino", "CITY"))
    Project.objects.update(seed_from=seeded.run)
    assert (len(started(seeded, seeded.ben)["spans"]), opened(seeded, seeded.ben)["seeded"]) == (1, "")
    started(seeded)
    Project.objects.update(seed_from=None)
    assert len(opened(seeded)["spans"]) == 2
    assert opened(seeded)["seeded"]
    second = make.make_note(seeded.project, annotators=[seeded.ann])
    make.make_set(second, seeded.run, [(0, 11, "PATIENT")], submitted=True)
    assert started(seeded, pk=second.pk)["spans"] == []


def test_undo_leaves_the_copied_spans_but_they_can_be_deleted(seeded: SimpleNamespace, ann: Client) -> None:
    first, second = started(seeded)["spans"]
    answer = post(ann, url(seeded, "changes"), step("undo"))
    assert (answer.status_code, answer.json()["error"]) == (409, "nothing")
    assert post(ann, url(seeded, "changes"), alter("delete", first)).status_code == 200
    assert [span["id"] for span in opened(seeded)["spans"]] == [second["id"]]
    post(ann, url(seeded, "changes"), step("undo"))
    back = Span.objects.get(pk=first["id"])
    assert (back.confidence, back.source) == (0.75, "name-rule")
    # The run's own spans don't change.
    assert seeded.made.spans.count() == 2


def test_merged_labels_are_copied_as_what_they_became(seeded: SimpleNamespace) -> None:
    merge(seeded, "PATIENT", "DOCTOR")
    assert started(seeded)["spans"][0]["label"] == seeded.labels["DOCTOR"]


def test_only_a_submitted_set_of_the_run_within_the_limits_counts(
    seeded: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("annotations.core.changes.MOST_SPANS", 1)
        answer = post(signed_in(seeded.ann), url(seeded, "start_annotations"), {}).json()
        assert answer == {"version": 0, "state": "draft", "seeded": "", "spans": []}
        change = create(seeded.note, seeded.labels, "Torino", "CITY", version=0)
        answer = post(signed_in(seeded.ben), url(seeded, "changes"), change).json()
        assert (answer["version"], answer["changed_elsewhere"]) == (1, False)
        assert not annotation_sets(seeded).get().seeded
    annotation_sets(seeded).delete()
    AnnotationSet.objects.filter(pk=seeded.made.pk).update(state=AnnotationSetState.DRAFT)
    assert started(seeded)["seeded"] == ""
    assert not annotation_sets(seeded).exists()
    # A run that found nothing in a note has read it all the same.
    nothing = make.make_note(seeded.project, annotators=[seeded.ann])
    make.make_set(nothing, seeded.run, submitted=True)
    assert started(seeded, pk=nothing.pk)["seeded"]
    assert annotation_sets(seeded).get().seeded
