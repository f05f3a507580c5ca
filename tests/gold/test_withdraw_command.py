"""The command that removes the gold of notes."""

import pytest

from annotations.gold.services.making import freeze
from annotations.models import AnnotationSet, Event
from tests import factories as make
from tests.worlds.commands import answered


@pytest.fixture
def project(db):
    found = make.make_project("covid")
    for role in ("reviewer", "annotator"):
        make.make_member(found, role, role)
    gold = make.make_author(found, kind="gold", name="gold")
    for name in ("one", "two"):
        make.make_set(make.make_note(found, name=name), gold, [(0, 11, "PATIENT")], submitted=True)
    make.make_note(found, name="bare")
    return found


def withdraw(*words):
    return answered("withdraw_gold", "covid", *words)


def test_gold_is_removed_and_frozen_versions_keep_it(project):
    version, _new = freeze(project=project, actor=None)
    assert withdraw("one", "--by", "reviewer") == {"withdrawn": ["one"]}
    assert [one.document.name for one in AnnotationSet.objects.filter(author__kind="gold")] == ["two"]
    assert version.notes.count() == 2
    event = Event.objects.get(verb="gold.withdrawn")
    assert event.actor.username == "reviewer" and len(event.data["removed"]) == 1


def test_all_notes_or_none(project):
    for words, code in (
        (("one", "bare", "--by", "reviewer"), "none"), (("one", "nowhere", "--by", "reviewer"), "note"),
        (("one",), "by"), (("one", "--by", "annotator"), "access"),
    ):  # fmt: skip
        assert withdraw(*words) == code
    assert AnnotationSet.objects.count() == 2 and not Event.objects.exists()
