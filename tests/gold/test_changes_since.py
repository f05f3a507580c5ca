"""The statement about changes since the last version says what freezing would find."""

import re

from django.urls import reverse

from annotations.gold.selectors import difference
from annotations.gold.services.making import freeze, make_gold, withdraw_gold
from annotations.models import GoldVersion, Span
from annotations.projects.services.labels import update_label
from annotations.review.services.log import Act
from tests import factories as make
from tests.held import made_once
from tests.worlds.checks import check_page
from tests.worlds.pages import make_world, signed_in
from tests.worlds.reviewing import review, suggestions

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
    world.client = signed_in(world.rev)
    return world


made, frozen = made_once(make_frozen)


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


def test_a_renamed_label_and_an_open_review_change_nothing(frozen):
    update_label(label=make.label_of(frozen.project, "CITY"), name="Town", actor=None)
    note = frozen.five[4]
    review(note, frozen.run, frozen.rev, Act.REJECT, suggestions(note, frozen.run)[0])
    check(frozen, "nothing changed")


def test_added_and_removed_gold(frozen):
    make_gold(document=frozen.five[4], annotation_set=frozen.anns[4], actor=frozen.rev)
    assert statement(frozen) == "1 new or changed"
    withdraw_gold(document=frozen.five[0], actor=frozen.rev)
    check(frozen, "1 new or changed, 1 removed")


def test_erased_notes_are_counted(frozen):
    frozen.five[0].delete()
    GoldVersion.objects.update(erased_count=1)
    change = difference(GoldVersion.objects.get())
    assert (change.same, change.touched, change.removed, change.erased) == (False, 0, 0, 1)
    check(frozen, "0 new or changed, 1 erased")
