"""The command that removes the gold of notes."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

from annotations.gold.services.making import freeze
from annotations.models import AnnotationSet, Event
from tests import factories as make

pytestmark = pytest.mark.django_db


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
    out = io.StringIO()
    try:
        call_command("withdraw_gold", "covid", *words, "--json", stdout=out)
    except CommandError as error:
        return json.loads(out.getvalue())["code"], str(error)
    return json.loads(out.getvalue())


def test_gold_is_removed_and_frozen_versions_keep_it(project):
    version, _new = freeze(project=project, actor=None)
    assert withdraw("one", "--by", "reviewer") == {"withdrawn": ["one"]}
    assert [one.document.name for one in AnnotationSet.objects.filter(author__kind="gold")] == ["two"]
    assert version.notes.count() == 2
    event = Event.objects.get(verb="gold.withdrawn")
    assert event.actor.username == "reviewer" and len(event.data["removed"]) == 1


def test_all_notes_or_none(project):
    code, said = withdraw("one", "bare", "--by", "reviewer")
    assert code == "none" and said == "bare: This note has no gold. Nothing was changed."
    assert withdraw("one", "nowhere", "--by", "reviewer")[0] == "note"
    assert withdraw("one")[0] == "by"
    assert withdraw("one", "--by", "annotator")[0] == "access"
    assert AnnotationSet.objects.count() == 2 and not Event.objects.exists()
