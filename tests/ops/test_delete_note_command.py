"""The command that deletes a note."""

import io
import json

import pytest
from django.core.management import CommandError, call_command

from annotations.models import Document, Event
from tests import factories as make

pytestmark = pytest.mark.django_db


def delete(*words):
    out = io.StringIO()
    try:
        call_command("delete_note", "covid", *words, "--json", stdout=out)
    except CommandError:
        return json.loads(out.getvalue())["code"]
    return json.loads(out.getvalue())


def test_a_note_is_deleted_after_a_confirmation(capsys):
    project = make.make_project("covid")
    mia, anna = make.make_member(project, "manager", "mia"), make.make_member(project, "annotator", "anna")
    make.make_set(make.make_note(project, name="one"), anna, [(0, 11, "PATIENT")])
    make.make_note(project, name="two")
    assert (delete("none"), delete("one"), delete("one", "--yes", "--by", "anna")) == ("note", "confirm", "access")
    preview = delete("one", "--preview")
    assert (preview["deleted"], preview["annotation_sets"]) == (False, 1) and Document.objects.count() == 2
    found = delete("one", "--yes", "--by", "mia")
    assert found["deleted"] and [note.name for note in Document.objects.all()] == ["two"]
    assert Event.objects.get(verb="note.deleted").actor == mia
    call_command("delete_note", "covid", "two", "--yes")
    assert "Deleted the note with 0 annotation sets." in capsys.readouterr().out
