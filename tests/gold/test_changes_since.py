"""The statement about changes since the last version says what freezing would find."""

import re
import uuid

import pytest
from django.urls import reverse

from annotations.gold.selectors import change_since
from annotations.gold.services.making import freeze, make_gold, withdraw_gold
from annotations.models import AnnotationSet, GoldVersion, Label, Span
from annotations.projects.services.labels import merge_labels, update_label
from annotations.review.services.deciding import Request, decide
from annotations.review.services.log import Act
from tests import factories as make
from tests.held import fresh
from tests.worlds.checks import check_page
from tests.worlds.pages import make_world

TEXT = "Mario Rossi vive a Torino."
ROSSI, TORINO = (0, 11, "PATIENT"), (19, 25, "CITY")
GOLD = reverse("gold", args=["covid"])


def make_frozen():
    """Four gold notes in version 1, and a fifth note without gold; a run suggests both spans in all five."""
    world = make_world()
    world.five = [make.make_note(world.project, TEXT) for _ in range(5)]
    world.run = make.make_author(world.project, kind="run", name="rules-1")
    world.anns = [make.make_set(note, world.ann, [ROSSI, TORINO], submitted=True) for note in world.five]
    for note, own in list(zip(world.five, world.anns, strict=True))[:4]:
        make_gold(document=note, annotation_set=own, actor=world.rev)
    for note in world.five:
        make.make_set(note, world.run, [ROSSI, TORINO], submitted=True)
    Span.objects.filter(annotation_set__author=world.run).update(confidence=0.95)
    world.version = freeze(project=world.project, actor=world.rev)[0]
    return world


@pytest.fixture(scope="module")
def made_frozen(once):
    return once(make_frozen)


@pytest.fixture
def frozen(made_frozen, db, sign_in):
    world = fresh(made_frozen, make_frozen)
    world.client = sign_in(world.rev)
    return world


def statement(world) -> str:
    """The text of the statement on the page of gold."""
    html = check_page(world.client.get(GOLD))
    said = re.search(r'<dd id="since-last">(.*?)</dd>', html)
    assert said
    return re.sub(r"<[^>]+>", "", said[1]).strip()


def check(world, expected: str) -> None:
    """Check that the page says this, and that freezing through the page agrees."""
    assert statement(world) == expected
    before = GoldVersion.objects.count()
    world.client.post(reverse("gold_freeze", args=["covid"]))
    assert (GoldVersion.objects.count() == before) == (expected == "nothing changed")
    assert statement(world) == "nothing changed"


def gold_of(note) -> AnnotationSet:
    return AnnotationSet.objects.get(document=note, author__kind="gold")


def test_a_merged_label_is_counted_besides_other_changes(frozen):
    """27 of 32 notes is what the times of change say, if one note lacks the merged label."""
    gold_of(frozen.five[0]).spans.filter(start=19).delete()
    freeze(project=frozen.project, actor=frozen.rev)
    make_gold(document=frozen.five[4], annotation_set=frozen.anns[4], actor=frozen.rev)
    labels = {label.code: label for label in Label.objects.filter(label_set__project=frozen.project)}
    merge_labels(source=labels["CITY"], target=labels["PATIENT"], actor=None)
    check(frozen, "4 new or changed")


def test_a_renamed_label_changes_nothing(frozen):
    label = Label.objects.get(label_set__project=frozen.project, code="CITY")
    update_label(label=label, name="Town", actor=None)
    check(frozen, "nothing changed")


def test_added_and_removed_gold(frozen):
    make_gold(document=frozen.five[4], annotation_set=frozen.anns[4], actor=frozen.rev)
    assert statement(frozen) == "1 new or changed"
    withdraw_gold(document=frozen.five[0], actor=frozen.rev)
    check(frozen, "1 new or changed, 1 removed")


def test_an_open_review_changes_nothing(frozen):
    _reject_first(frozen, frozen.five[4])
    check(frozen, "nothing changed")


def test_a_renamed_note_changes_the_version(frozen):
    """Names are part of the content hash."""
    note = frozen.five[0]
    note.name = "caso-renamed"
    note.save(update_fields=["name"])
    check(frozen, "names of notes changed")


def test_erased_notes_are_counted(frozen):
    frozen.five[0].delete()
    GoldVersion.objects.update(erased_count=1)
    change = change_since(frozen.project, GoldVersion.objects.get())
    assert (change.same, change.touched, change.removed, change.erased) == (False, 0, 0, 1)
    check(frozen, "0 new or changed, 1 erased")


def _suggestions(world, note) -> set[int]:
    rows = Span.objects.filter(annotation_set__document=note, annotation_set__author=world.run)
    return set(rows.values_list("pk", flat=True))


def _reject_first(world, note) -> None:
    request = Request(change_id=uuid.uuid4(), act=Act.REJECT, suggestion=min(_suggestions(world, note)))
    decide(document=note, author=world.run, user=world.rev, request=request)
