from unittest.mock import patch

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotations.core.services import NOTE_READ
from annotations.gold.events import GOLD_SPLIT
from annotations.gold.selectors import version_page
from annotations.gold.selectors.state import gold_state
from annotations.gold.services.making import freeze, make_gold, withdraw_gold
from annotations.models import AnnotationSet, Author, Event, GoldVersion, GoldVersionNote
from annotations.projects.selectors import projects as projects_selector
from tests import factories as make
from tests.held import made_once
from tests.worlds.checks import check_page
from tests.worlds.pages import make_world

ROSSI = (0, 11, "PATIENT")
GOLD = reverse("gold", args=["covid"])
FREEZE = reverse("gold_freeze", args=["covid"])


def make_golden():
    """Ann annotated both notes, ben the first one; ann's annotations of the first note are gold."""
    world = make_world()
    world.anns = [make.make_set(note, world.ann, [ROSSI], submitted=True) for note in world.notes]
    world.bens = make.make_set(world.note, world.ben, submitted=True)
    world.gold = make_gold(document=world.note, annotation_set=world.anns[0], actor=world.rev)
    return world


made, world = made_once(make_golden)


def version_url(number: int, query: str = "") -> str:
    return reverse("gold_version", args=["covid", number]) + query


def test_whether_one_person_did_all_work(world, rev):
    version, _ = freeze(project=world.project, actor=None)

    def by_one_person():
        return 'id="one-person"' in check_page(rev.get(version_url(version.number)))

    assert not by_one_person()
    AnnotationSet.objects.filter(pk=world.bens.pk).update(state="draft")
    # Whoever annotated only notes outside of the version does not count.
    make.make_set(world.notes[1], world.ben, submitted=True)
    with CaptureQueriesContext(connection) as made:
        assert by_one_person()
    of_version = [
        each["sql"] for each in made if '_annotationset"' in each["sql"] and "_goldversionnote" in each["sql"]
    ]
    assert of_version and all("LIMIT 1" in sql for sql in of_version)
    Author.objects.filter(kind="annotator", user=world.ann).update(user=None)
    assert not by_one_person()


def test_freezing_and_freezing_again(world, rev):
    response = rev.post(FREEZE, {"reason": "First round"})
    assert response.url == version_url(1)
    html = check_page(rev.get(response.url))
    version = GoldVersion.objects.get()
    assert 'id="one-person"' not in html, "two people annotated the note"
    # The answer comes first, and nothing else is open but the form that splits, the next thing to do.
    answer, _folds, details = html.partition('<div class="card folds">')
    assert "1 gold note with 1 spans, not split yet" in " ".join(answer.split())
    assert details.count("<details open>") == 1 and version.content_hash not in answer
    world.bens.delete()
    assert 'id="one-person"' in check_page(rev.get(response.url))
    assert "First round" in html and "caso-001" in html and "28,867" in html.split("Published figures")[1]
    split = {"seed": "s", "train": "100", "dev": "0", "test": "0"}
    answer = check_page(rev.post(reverse("gold_split", args=["covid", 1]), split, follow=True)).partition("folds")[0]
    assert "seed <strong>s</strong>" in answer and "Notes by split" in answer and "test note" not in answer
    GoldVersionNote.objects.update(split="test")
    assert "Only 1 test note" in check_page(rev.get(response.url)).partition("folds")[0]
    response = rev.post(FREEZE, {"reason": "Again"}, follow=True)
    assert "Nothing has changed since version 1" in check_page(response)
    version = GoldVersion.objects.get()
    assert (version.reason, version.created_by, version.note_count) == ("First round", world.rev, 1)
    assert version.content_hash in html and "First round" in check_page(rev.get(GOLD))
    make_gold(document=world.notes[1], annotation_set=world.anns[1], actor=world.rev)
    withdraw_gold(document=world.note, actor=world.rev)
    state = gold_state(world.project, version)
    assert (state.notes, state.change.touched, state.change.removed) == (1, 1, 1)
    GoldVersion.objects.update(erased_count=1)
    assert "1 erased since" in check_page(rev.get(GOLD))
    assert "1 note was erased or deleted later" in check_page(rev.get(version_url(1)))


def test_a_large_project_is_counted_after_the_page(world, rev):
    with patch.object(projects_selector, "CAP", 1):
        html = check_page(rev.get(GOLD))
    assert "Counting a large project" in html
    assert "Gold spans" in check_page(rev.get(GOLD, headers={"HX-Request": "true"}), fragment=True)


def test_the_notes_of_a_version_come_in_pages(world, vic):
    for n in range(5):
        note = make.make_note(world.project, name=f"x-{n}")
        make.make_set(note, Author.objects.get(kind="gold"), [ROSSI], submitted=True)
    version, _ = freeze(project=world.project, actor=world.rev)
    first = version_page(version, after=None, before=None, size=4)
    second = version_page(version, after=first.next, before=None, size=4)
    assert len(first.rows) == 4 and first.previous is None
    assert [row.name for row in second.rows] == ["x-3", "x-4"] and second.next is None
    assert version_page(version, after=None, before=second.previous, size=4).rows == first.rows
    assert "x-4" in check_page(vic.get(version_url(1), headers={"HX-Request": "true"}), fragment=True)
    assert "x-4" not in check_page(vic.get(version_url(1, "?after=999999")))


@pytest.fixture
def two_versions(world):
    """Version 1 has one note. In version 2 its span has another label, and the second note is added."""
    freeze(project=world.project, actor=world.rev)
    world.gold.spans.update(label=make.label_of(world.project, "DOCTOR"))
    make_gold(document=world.notes[1], annotation_set=world.anns[1], actor=world.rev)
    freeze(project=world.project, actor=world.rev)
    return world


def changes_url(number, query=""):
    return reverse("gold_changes", args=["covid", number]) + query


def test_what_changed_between_two_versions(two_versions, vic):
    assert changes_url(2) in check_page(vic.get(version_url(2)))
    html = check_page(vic.get(changes_url(2)))
    assert "1 change" in html and "<mark>Mario Rossi</mark>" in html
    assert "caso-002" in html and "Notes added" in html
    assert Event.objects.filter(verb=NOTE_READ, document_id=two_versions.note.pk).count() == 1
    assert "<mark>" not in check_page(vic.get(changes_url(2, "?kind=moved")))
    assert "<mark>" in check_page(vic.get(changes_url(2, "?kind=relabeled&page=9")))
    assert "Notes removed" in check_page(vic.get(changes_url(1, "?since=2")))
    assert "Nothing to compare with" in check_page(vic.get(changes_url(1)))
    for page in (changes_url(9), changes_url(2, "?since=7"), changes_url(2, "?since=2")):
        assert vic.get(page).status_code == 404
    two_versions.gold.spans.update(label=make.label_of(two_versions.project, "PATIENT"))
    withdraw_gold(document=two_versions.notes[1], actor=two_versions.rev)
    freeze(project=two_versions.project, actor=two_versions.rev)
    assert "Both versions have the same spans." in check_page(vic.get(changes_url(3, "?since=1")))


SPLIT = {"seed": "first", "train": 50, "dev": 0, "test": 50}


def test_splitting_a_version(two_versions, rev):
    url = reverse("gold_split", args=["covid", 2])
    html = check_page(rev.get(version_url(2)))
    assert "Not split yet" in html and url in html
    html = check_page(rev.post(url, SPLIT, follow=True))
    assert "no patient is in two splits" in html and "<strong>first</strong>" in html
    notes = GoldVersion.objects.get(number=2).notes
    assert sorted(notes.values_list("split", flat=True)) == ["test", "train"]
    assert "was already split this way" in check_page(rev.post(url, SPLIT, follow=True))
    assert "Choose another seed" in check_page(rev.post(url, SPLIT | {"train": 60, "test": 40}, follow=True))
    assert Event.objects.filter(verb=GOLD_SPLIT).count() == 1
    # The form of the first version offers the same seed, so that its patient keeps the split.
    assert 'value="first"' in check_page(rev.get(version_url(1)))
    rev.post(reverse("gold_split", args=["covid", 1]), SPLIT)
    splits = dict(notes.values_list("document__name", "split"))
    assert GoldVersion.objects.get(number=1).notes.get().split == splits["caso-001"]
    # Two patients become one.
    two_versions.project.documents.update(patient_id="one")
    assert "1 patient is in two splits" in check_page(rev.get(version_url(2)))
    rev.post(url, SPLIT)
    assert "in two splits, because" not in check_page(rev.get(version_url(2)))


def test_a_split_is_offered_to_the_export(two_versions, rev):
    export = reverse("export", args=["covid"])
    assert "One folder per split" not in check_page(rev.get(export))
    rev.post(reverse("gold_split", args=["covid", 2]), SPLIT)
    assert "One folder per split" in check_page(rev.get(export))
    start = reverse("job_start_export", args=["covid"])
    assert "/jobs/" in rev.post(start, {"format": "brat", "set": "gold:2", "split": "folders"}).url
    refused = rev.post(start, {"format": "brat", "set": "gold", "split": "dev"}, follow=True)
    assert "is not split" in check_page(refused)
