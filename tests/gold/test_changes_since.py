"""The statement about changes since the last version says what freezing would find."""

import io
import re

import pytest
from django.db import connection
from django.urls import reverse

from annotations.gold.selectors import Difference, difference, has_changed
from annotations.gold.services.making import freeze, make_gold, withdraw_gold
from annotations.models import ChangedGold, GoldVersion, GoldVersionNote, Project, Span
from annotations.ops.services.archives.reading import import_archive
from annotations.ops.services.archives.writing import write_archive
from annotations.ops.services.erasing import erase_patient
from annotations.projects.services.labels import update_label
from annotations.review.services.finishing import finish_review, reopen_review
from annotations.review.services.log import Act
from annotations.text.hashes import gold_hash
from tests import factories as make
from tests.gold.test_preview import GOLD, ROSSI, TEXT, TORINO
from tests.held import made_once
from tests.projects.overview_pages import rows, show, stages
from tests.worlds.checks import check_page
from tests.worlds.pages import make_world, signed_in
from tests.worlds.reviewing import review, suggestions


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


made, world = made_once(make_frozen)


def statement(world) -> str:
    """The text of the statement on the page of gold."""
    said = re.search(r'<dd id="since-last">(.*?)</dd>', check_page(world.client.get(GOLD)))
    assert said
    return re.sub(r"<[^>]+>", "", said[1]).strip()


def check(world, expected: str) -> None:
    """Check that the page says this, and that freezing through the page agrees."""
    assert statement(world) == expected
    before = GoldVersion.objects.count()
    world.client.post(reverse("gold_freeze", args=["covid"]))
    assert (GoldVersion.objects.count() == before) == (expected == "nothing changed")
    assert statement(world) == "nothing changed"


def test_a_renamed_label_and_an_open_review_change_nothing(world):
    update_label(label=make.label_of(world.project, "CITY"), name="Town", actor=None)
    note = world.five[4]
    review(note, world.run, world.rev, Act.REJECT, suggestions(note, world.run)[0])
    check(world, "nothing changed")


def test_added_and_removed_gold(world):
    make_gold(document=world.five[4], annotation_set=world.anns[4], actor=world.rev)
    assert statement(world) == "1 new or changed"
    withdraw_gold(document=world.five[0], actor=world.rev)
    check(world, "1 new or changed, 1 removed")


def test_erased_notes_are_counted(world):
    world.five[0].delete()
    GoldVersion.objects.update(erased_count=1)
    change = difference(GoldVersion.objects.get())
    assert (change.same, change.touched, change.removed, change.erased) == (False, 0, 0, 1)
    check(world, "0 new or changed, 1 erased")


# ── The overview says how the gold differs from the last version. It reads only notes whose gold was changed since ──


@pytest.fixture
def differs(world, mia):
    """`differs(spans, notes)`: what the overview says, which agrees with the comparison of the whole gold."""
    Project.objects.update(guidelines="Mark names.")

    def check(spans, notes=0):
        version = world.version.number
        needs = f"The gold of {notes} note{'s' * (notes > 1)} differs from version {version}."
        if spans:
            needs += f" In total, {spans}."
        same = f"{notes} note{'s' * (notes > 1)} differs" if notes else "same as the current gold"
        html = show(mia)
        (stage,) = [name for name in stages(html) if name.startswith("Frozen")]
        assert stage == f"Frozen v{version} {spans or same}"
        found = [text for text in rows(html, "Needs you") if text.startswith("The gold of")]
        assert found == ([needs] if notes else [])
        known = GoldVersionNote.objects.filter(version=world.version)
        found, ids = difference(world.version), list(known.values_list("pk", "gold"))
        assert has_changed(world.version) == (not found.same)
        # As if the version had come with an archive, so that nothing is known of the gold that was frozen
        known.update(gold=None)
        assert difference(world.version) == found and has_changed(world.version) == (not found.same)
        for pk, gold in ids:
            known.filter(pk=pk).update(gold=gold)

    return check


def replace(world, note, spans, name):
    other = make.make_set(note, make.make_author(world.project, kind="run", name=name), spans, submitted=True)
    make_gold(document=note, annotation_set=other, actor=world.rev, replace=True)


def test_only_notes_whose_gold_changed_are_compared(world):
    assert not ChangedGold.objects.exists() and difference(world.version).same
    replace(world, world.five[0], [ROSSI], "one")
    make_gold(document=world.five[4], annotation_set=world.anns[4], actor=world.rev)
    withdraw_gold(document=world.five[1], actor=world.rev)
    changed = {world.five[number].pk for number in (0, 1, 4)}
    assert set(ChangedGold.objects.values_list("document_id", flat=True)) == changed
    assert difference(world.version).notes == 3
    freeze(project=world.project, actor=world.rev)
    assert not ChangedGold.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_copy_of_the_project_differs_as_much():
    world = make_frozen()
    replace(world, world.five[0], [ROSSI], "one")
    make_gold(document=world.five[4], annotation_set=world.anns[4], actor=world.rev)
    withdraw_gold(document=world.five[1], actor=world.rev)
    file = io.BytesIO()
    write_archive(project=world.project, target=file)
    import_archive(file=file, slug="copy")
    version = GoldVersion.objects.get(project__slug="copy")
    assert difference(version) == difference(world.version) == Difference(2, 1, 0, 5, 0)


@pytest.mark.postgresql
@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite lets one transaction write at a time")
@pytest.mark.django_db(transaction=True)
def test_gold_that_changes_while_a_version_is_frozen_differs_from_it(at_once, monkeypatch):
    """Another person's change ends between the reading of the gold and the end of the freeze; neither waits."""
    world = make_frozen()
    replace(world, world.five[0], [ROSSI], "one")
    author = make.make_author(world.project, kind="run", name="two")
    other = make.make_set(world.five[0], author, [ROSSI, (19, 25, "HOSPITAL")], submitted=True)

    def read_gold(rows):
        found = gold_hash(rows)
        at_once(lambda: make_gold(document=world.five[0], annotation_set=other, actor=world.rev, replace=True))
        return found

    monkeypatch.setattr("annotations.gold.services.making.gold_hash", read_gold)
    version, made = freeze(project=world.project, actor=world.rev)
    assert made and difference(version) == Difference(1, 0, 0, 1, 0)


def test_spans_and_labels_that_differ(world, differs):
    differs("")
    replace(world, world.five[0], [ROSSI], "one")
    differs("1 span differs", 1)
    replace(world, world.five[1], [ROSSI, (19, 25, "HOSPITAL")], "two")
    differs("2 spans differ, 1 only in their labels", 2)
    replace(world, world.five[0], [ROSSI, TORINO], "three")
    differs("1 span differs, in its label", 1)
    replace(world, world.five[1], [ROSSI, TORINO], "four")
    differs("")


def test_notes_that_are_new_or_removed(world, differs):
    make_gold(document=world.five[4], annotation_set=world.anns[4], actor=world.rev)
    differs("2 spans differ", 1)
    withdraw_gold(document=world.five[0], actor=world.rev)
    differs("4 spans differ", 2)
    withdraw_gold(document=world.five[4], actor=world.rev)
    replace(world, world.five[4], [], "empty")
    make_gold(document=world.five[0], annotation_set=world.anns[0], actor=world.rev)
    differs("", 1)


def test_reviews(world, differs):
    note = world.five[4]
    first, *_ = spans = suggestions(note, world.run)
    finish_review(document=note, author=world.run, user=world.rev, rest={span.pk for span in spans})
    differs("2 spans differ", 1)
    reopen_review(document=note, author=world.run, user=world.rev)
    differs("2 spans differ", 1)
    review(note, world.run, world.rev, Act.REJECT, first)
    finish_review(document=note, author=world.run, user=world.rev)
    differs("1 span differs", 1)


def test_an_erased_note_is_no_difference(world, differs):
    make.change(world.five[0], patient_id="p")
    differs("")
    erase_patient(project=world.project, patient_id="p", actor=None)
    world.version.refresh_from_db()
    differs("")


def test_many_changed_notes_are_counted_without_comparing_their_spans(world, differs, monkeypatch, mia):
    monkeypatch.setattr("annotations.gold.selectors.MOST_COMPARED", 1)
    for number in range(2):
        replace(world, world.five[number], [ROSSI], f"more {number}")
    found = difference(world.version)
    assert (found.notes, found.spans, found.labels) == (2, None, None)
    html = show(mia)
    assert "The gold of 2 notes differs from version 1." in rows(html, "Needs you")
    assert "Frozen v1 2 notes differ" in stages(html)
