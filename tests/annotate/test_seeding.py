"""Readings that begin from a run's spans, where the project says so; agreement leaves them out."""

from types import SimpleNamespace
from typing import Any

import pytest

from annotations.agreement.selectors.figures import counted_sets, left_out, shared_notes
from annotations.models import AnnotationSet, Assignment, Author, Event, Project, Span
from annotations.projects.services import labels as label_services
from tests import factories as make
from tests.annotate.conftest import alter, create, step
from tests.annotate.test_views import client_of, post, url

pytestmark = pytest.mark.django_db


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
    return client_of(user or world.ann).get(url(world, "note_data", **over)).json()


def readings(world: SimpleNamespace) -> Any:
    return AnnotationSet.objects.filter(author__kind=Author.Kind.ANNOTATOR)


def test_the_first_opening_begins_from_the_runs_spans(seeded: SimpleNamespace) -> None:
    data = opened(seeded)
    assert [(span["start"], span["end"]) for span in data["spans"]] == [(0, 11), (13, 15)]
    assert (data["version"], data["state"], data["seeded"]) == (1, "draft", "Began from the spans of rules-1.")
    reading = readings(seeded).get()
    assert (reading.seeded, reading.blind, reading.author.user) == (True, True, seeded.ann)
    copied = list(reading.spans.values_list("start", "end", "label__name", "confidence", "source"))
    assert copied == [(0, 11, "PATIENT", 0.75, "name-rule"), (13, 15, "AGE", None, "")]
    event = Event.objects.get(verb="set.seeded")
    assert event.data == {"from_set": seeded.made.pk, "author": seeded.run.pk, "spans": 2}
    assert (event.actor, event.annotation_set_id) == (seeded.ann, reading.pk)
    assert opened(seeded) == data
    assert Event.objects.filter(verb="set.seeded").count() == 1


def test_the_page_says_so(seeded: SimpleNamespace) -> None:
    assert "Began from the spans of rules-1." in client_of(seeded.ann).get(url(seeded, "annotate")).content.decode()


def test_a_note_that_is_fetched_ahead_begins_when_it_is_opened(seeded: SimpleNamespace) -> None:
    client = client_of(seeded.ann)
    ahead = client.get(url(seeded, "note_data") + "?ahead=1").json()
    assert (ahead["spans"], ahead["version"], ahead["seeded"]) == ([], 0, "")
    assert client.get(url(seeded, "spans") + "?version=0").json()["version"] == 0
    assert not readings(seeded).exists()
    answer = client.get(url(seeded, "spans") + "?version=0&opened=1").json()
    assert (answer["version"], len(answer["spans"]), answer["seeded"]) == (1, 2, "Began from the spans of rules-1.")


def test_who_begins_and_who_does_not(seeded: SimpleNamespace) -> None:
    for user in (seeded.ann, seeded.ben):
        assert opened(seeded, user)["seeded"]
    # A reviewer or manager who looks in begins nothing, until the note is given to them.
    assert opened(seeded, seeded.rev)["spans"] == []
    assert readings(seeded).count() == 2
    Assignment.objects.create(project=seeded.project, document=seeded.note, user=seeded.rev)
    assert len(opened(seeded, seeded.rev)["spans"]) == 2
    assert not readings(seeded).get(author__user=seeded.rev).blind


def test_what_was_begun_stays_as_it_is(seeded: SimpleNamespace) -> None:
    post(client_of(seeded.ben), url(seeded, "changes"), create(seeded.note, seeded.labels, "Torino", "CITY"))
    assert (len(opened(seeded, seeded.ben)["spans"]), opened(seeded, seeded.ben)["seeded"]) == (1, "")
    opened(seeded)
    Project.objects.update(seed_from=None)
    assert len(opened(seeded)["spans"]) == 2
    assert opened(seeded)["seeded"]
    second = make.make_note(seeded.project, readers=[seeded.ann])
    make.make_set(second, seeded.run, [(0, 11, "PATIENT")], submitted=True)
    assert opened(seeded, pk=second.pk)["spans"] == []


def test_only_what_the_run_has_finished(seeded: SimpleNamespace) -> None:
    AnnotationSet.objects.filter(pk=seeded.made.pk).update(state=AnnotationSet.State.DRAFT)
    assert opened(seeded)["seeded"] == ""
    assert not readings(seeded).exists()
    # The run found nothing: that is an answer too.
    nothing = make.make_note(seeded.project, readers=[seeded.ann])
    make.make_set(nothing, seeded.run, submitted=True)
    assert opened(seeded, pk=nothing.pk)["seeded"]
    assert readings(seeded).get().seeded


def test_undo_does_not_reach_behind_the_seed_but_spans_can_go(seeded: SimpleNamespace) -> None:
    client = client_of(seeded.ann)
    first, second = opened(seeded)["spans"]
    answer = post(client, url(seeded, "changes"), step("undo"))
    assert (answer.status_code, answer.json()["error"]) == (409, "nothing")
    assert post(client, url(seeded, "changes"), alter("delete", first)).status_code == 200
    assert [span["id"] for span in opened(seeded)["spans"]] == [second["id"]]
    post(client, url(seeded, "changes"), step("undo"))
    back = Span.objects.get(pk=first["id"])
    assert (back.confidence, back.source) == (0.75, "name-rule")
    # The run's own spans are its own.
    assert seeded.made.spans.count() == 2


def test_labels_that_were_merged_are_those_of_today(seeded: SimpleNamespace) -> None:
    label_services.merge_labels(
        source=make.label_of(seeded.project, "PATIENT"), target=make.label_of(seeded.project, "DOCTOR"), actor=None
    )
    assert opened(seeded)["spans"][0]["label"] == seeded.labels["DOCTOR"]


def test_agreement_leaves_them_out(seeded: SimpleNamespace) -> None:
    bare = make.make_note(seeded.project, readers=[seeded.ann, seeded.ben])
    for user in (seeded.ann, seeded.ben):
        for note in (seeded.note, bare):
            opened(seeded, user, pk=note.pk)
            assert post(client_of(user), url(seeded, "submit", pk=note.pk), {}).status_code == 200
    assert (left_out(seeded.project).seeded, left_out(seeded.project).not_blind) == (2, 0)
    assert not counted_sets(seeded.project).filter(document=seeded.note).exists()
    assert shared_notes(seeded.project) == [bare.pk]
