"""The data of the annotate page, fetched with it or ahead; sets that begin from a run's spans; what is recorded."""

import json
from datetime import datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.messages import get_messages
from django.test import Client
from django.utils import timezone

from annotations import models
from annotations.annotate.selectors.worklist import typical_minutes
from annotations.models import AnnotationSet, AnnotationSetState, Assignment, AuthorKind, Event, Project, Span
from tests import factories as make
from tests.annotate.conftest import alter, create, merge, step
from tests.annotate.test_views import post, url
from tests.worlds.pages import signed_in

pytestmark = pytest.mark.django_db


def verbs() -> list[str]:
    return list(models.Event.objects.values_list("verb", flat=True))


def test_the_page_and_the_data_hold_the_same(world: SimpleNamespace, ann: Client) -> None:
    make.make_note(world.project, annotators=[world.ann])
    make.make_set(world.note, world.ann, [(0, 11, "PATIENT")], version=3)
    page = ann.get(url(world, "annotate")).context["data"]
    answer = ann.get(url(world, "note_data"))
    data = answer.json()
    assert page.pop("labels") and page.pop("project")  # the same for all notes
    assert data == json.loads(json.dumps(page))
    assert answer.headers["Cache-Control"] == "no-store"
    assert data["note"] == {"id": world.note.pk, "name": "caso-001", "language": ""}
    assert (data["text"], data["version"], data["state"], data["seeded"]) == (world.note.text, 3, "draft", "")
    assert [span["start"] for span in data["spans"]] == [0]
    assert data["urls"]["data"] == url(world, "note_data")
    assert data["urls"]["changes"] == url(world, "changes")


def test_labels_come_with_the_spans_where_they_are_others(world: SimpleNamespace, ann: Client) -> None:
    spans = url(world, "spans") + "?version=0"

    def stamp() -> str:
        return str(ann.get(url(world, "note_data")).json()["labels_stamp"])

    first = stamp()
    assert "labels" not in ann.get(f"{spans}&labels={first}").json()
    assert "labels" not in ann.get(spans).json()
    models.PersonalKey.objects.create(user=world.ann, label=make.label_of(world.project, "AGE"), key="7")
    now = ann.get(f"{spans}&labels={first}").json()
    assert [label["name"] for label in now["labels"] if label["key"] == "7"] == ["AGE"]
    assert now["labels_stamp"] == stamp() != first
    models.Label.objects.filter(pk=world.labels["AGE"]).update(name="YEARS")
    assert stamp() not in (first, now["labels_stamp"])


def test_opening_a_note_is_recorded_when_it_is_shown(world: SimpleNamespace, ann: Client) -> None:
    ann.get(url(world, "note_data") + "?ahead=1")
    assert verbs() == ["note.fetched"]
    ann.get(url(world, "spans") + "?version=0")
    assert verbs() == ["note.fetched"]
    assert "spans" not in ann.get(url(world, "spans") + "?version=0&opened=1").json()
    ann.get(url(world, "note_data"))
    assert verbs() == ["note.fetched", "note.read", "note.read"]
    assert not models.AnnotationSet.objects.exists()


def work_of(world: SimpleNamespace, pk: int) -> Any:
    return signed_in(world.ann).get(url(world, "note_data", pk=pk)).json()["work"]


def address(world: SimpleNamespace, pk: int) -> dict[str, Any]:
    return {"id": pk, "url": url(world, "annotate", pk=pk), "data": url(world, "note_data", pk=pk)}


def test_the_notes_around_and_the_next_to_do(world: SimpleNamespace) -> None:
    assert work_of(world, world.note.pk)["next_open"] is None
    rev = signed_in(world.rev).get(url(world, "note_data")).json()["work"]
    assert (rev["next_open"], rev["total"]) == (None, 0)
    notes = [world.note, *(make.make_note(world.project, annotators=[world.ann]) for _ in range(40))]
    ids = [note.pk for note in notes]
    models.Assignment.objects.filter(user=world.ann, document__in=notes[3:38]).update(state=models.AssignmentState.DONE)
    work = work_of(world, ids[2])
    first = {"id": ids[0], "name": "caso-001", "state": "open", "flagged": False, "url": url(world, "annotate")}
    assert work["notes"][0] == first
    assert (work["done"], work["total"], work["more"], work["pace"]) == (35, 41, False, "")
    assert (work["previous"], work["next"]) == (address(world, ids[1]), address(world, ids[3]))
    # Far beyond the list of notes.
    assert work["next_open"] == address(world, ids[38])
    assert work_of(world, ids[40])["next_open"] == address(world, ids[0])
    assert work_of(world, ids[5])["next_open"] == address(world, ids[38])
    submitted = post(signed_in(world.ann), url(world, "submit", pk=ids[2]), {}).json()
    assert submitted["next_open"] == address(world, ids[38])


def test_flagged_notes_are_marked_as_far_as_one_may_know(world: SimpleNamespace) -> None:
    second = make.make_note(world.project, annotators=[world.ann, world.ben])
    third = make.make_note(world.project, annotators=[world.ann])
    models.Flag.objects.create(document=world.note, user=world.ann, reason=models.Flag.Reason.UNSURE)
    models.Flag.objects.create(document=second, user=world.ben, reason=models.Flag.Reason.UNSURE)
    models.Flag.objects.create(
        document=third, user=world.ann, reason=models.Flag.Reason.UNSURE, cleared_at=timezone.now()
    )

    def flagged(who: Any) -> list[int]:
        notes = signed_in(who).get(url(world, "note_data")).json()["work"]["notes"]
        return [note["id"] for note in notes if note["flagged"]]

    assert flagged(world.ann) == [world.note.pk]
    assert flagged(world.rev) == [world.note.pk, second.pk]
    # A note that isn't assigned to them shows next to those that are.
    make.make_note(world.project, annotators=[world.rev])
    assert flagged(world.rev) == [world.note.pk]
    page = signed_in(world.ann).get(url(world, "annotate")).content.decode()
    assert page.count('<span class="flagged">') == 2  # the note's, and the one that the script copies


# ── Pace ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

START = datetime(2026, 3, 2, 9, 0)


def log(*steps: tuple[int | None, str, float]) -> list[tuple[int | None, str, datetime]]:
    """Make events at these minutes after nine o'clock."""
    return [(note, verb, START + timedelta(minutes=minute)) for note, verb, minute in steps]


def read(note: int, begun: float, minutes: float) -> list[tuple[int | None, str, float]]:
    return [(note, "note.read", begun), (note, "span.created", begun + 1), (note, "set.submitted", begun + minutes)]


def test_a_typical_note() -> None:
    seen = log(*read(1, 0, 2), *read(2, 3, 4), *read(3, 8, 3))
    # Up to the next note's opening: 3, 5 and 3 minutes.
    assert typical_minutes(seen) == 3
    assert typical_minutes(seen[:-1]) is None
    assert typical_minutes(seen, whole=False) is None
    assert typical_minutes([]) is None


def test_breaks_and_what_is_not_submitted_count_for_nothing() -> None:
    seen = log(*read(1, 0, 2), *read(2, 100, 4), (9, "note.read", 104.5), *read(3, 300, 4), (None, "signed", 304))
    assert typical_minutes(seen) == 4
    long = log((1, "note.read", 0), (1, "set.submitted", 20), *read(2, 21, 2), *read(3, 24, 2))
    assert typical_minutes(long) == 2


def test_the_pace_is_ones_own_and_of_this_project(world: SimpleNamespace, ann: Client) -> None:
    other = make.make_project("other")
    make.make_member(other, user=world.ann)
    far = make.make_note(other, annotators=[world.ann])
    post(signed_in(world.ben), url(world, "submit"), {})
    post(ann, url(world, "submit", slug="other", pk=far.pk), {})
    assert work_of(world, world.note.pk)["pace"] == ""
    notes = [make.make_note(world.project, annotators=[world.ann]) for _ in range(3)]
    for note in notes:
        ann.get(url(world, "annotate", pk=note.pk))
        post(ann, url(world, "changes", pk=note.pk), create(world.note, world.labels, "Mario Rossi", "PATIENT"))
        post(ann, url(world, "submit", pk=note.pk), {})
    assert work_of(world, world.note.pk)["pace"] == "3 today · less than a minute per note"
    assert "3 today · less" in ann.get(url(world, "annotate")).content.decode()
    models.AnnotationSet.objects.update(submitted_at=timezone.now() - timedelta(days=2))
    assert work_of(world, world.note.pk)["pace"] == "less than a minute per note"


# ── Candidates of the rules, and strings that the person labeled before ──────────────────────────────────────────────


SEEN = "Seen by Dr. van den Berg on 07/04/2017. Mrs Mary Smith, 54 years, lives in Boston."
BERG, MARY = (SEEN.index(name) for name in ("van den Berg", "Mary Smith"))


def note_of(world: SimpleNamespace) -> models.Document:
    return make.make_note(world.project, SEEN, annotators=[world.ann, world.ben], language="en")


def offered(world: SimpleNamespace, user: models.User, note: models.Document) -> dict[str, Any]:
    answer = signed_in(user).get(url(world, "candidates", pk=note.pk))
    assert answer.status_code == 200
    return dict(answer.json())


def test_the_rules_propose_only_if_the_project_says_so(world: SimpleNamespace) -> None:
    note = note_of(world)
    nothing = {"candidates": [], "strings": [], "shown": False, "person": world.ann.pk}
    assert offered(world, world.ann, note) == nothing
    models.Project.objects.update(candidates=True)
    answer = offered(world, world.ann, note)
    names = dict(models.Label.objects.values_list("pk", "name"))
    found = [(SEEN[start:end], names[label]) for start, end, label in answer["candidates"]]
    assert answer["shown"] and ("Mary Smith", "PATIENT") in found and ("van den Berg", "DOCTOR") in found
    assert found == sorted(found, key=lambda each: SEEN.index(each[0]))
    # What is annotated with candidates in sight is not blind.
    change = create(note, world.labels, "Seen", "DOCTOR")
    assert post(signed_in(world.ann), url(world, "changes", pk=note.pk), change).status_code == 200
    assert not models.AnnotationSet.objects.get().blind


def test_strings_are_those_of_the_same_person_in_other_notes(world: SimpleNamespace) -> None:
    note, *others = (note_of(world) for _ in range(3))
    berg, mary = (BERG, BERG + 12, "DOCTOR"), (MARY, MARY + 10, "PATIENT")
    for other, spans in zip(others, ([berg], [berg, mary]), strict=True):
        make.make_set(other, world.ann, spans=spans)
    make.make_set(note, world.ben, spans=[(*mary[:2], "DOCTOR")])
    make.make_set(note, world.ann, spans=[(0, 4, "PATIENT")])
    doctor, patient = world.labels["DOCTOR"], world.labels["PATIENT"]
    assert offered(world, world.ann, note)["strings"] == [["van den Berg", doctor, 2], ["Mary Smith", patient, 1]]
    # A note that the person may no longer open says nothing any more, and another person's work never does.
    others[1].assignments.filter(user=world.ann).update(state="released")
    assert offered(world, world.ann, note)["strings"] == [["van den Berg", doctor, 1]]
    assert offered(world, world.ben, others[0])["strings"] == [["Mary Smith", doctor, 1]]


# ── Annotation sets that begin from a run's spans, where the project says so; agreement leaves them out ──


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
    assert post(ann, url(seeded, "changes"), change | {"label": 10**9}).status_code == 409
    assert not annotation_sets(seeded).exists()  # A refused change begins nothing.
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


def test_only_submitted_sets_within_the_limits_count(seeded: SimpleNamespace, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("annotations.text.spans.MOST_SPANS", 1)
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
