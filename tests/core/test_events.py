"""Events are append-only, in Python and in the database itself."""

import copy
import pickle

import pytest
from django.db import DatabaseError, connection, transaction

from annotations.core.services import NOTE_READ, SET_SEEDED, NoData, Verb, sentences
from annotations.models import Event
from deidreview.sqlite3.base import DatabaseWrapper
from tests import factories as make

pytestmark = pytest.mark.django_db


def test_python_and_the_database_refuse_to_change_an_event():
    event = NOTE_READ.record()
    for change in (event.save, event.delete, lambda: Event.objects.update(verb="x"), Event.objects.all().delete):
        with pytest.raises(TypeError, match="append-only"):
            change()
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("UPDATE annotations_event SET verb = 'x'")
    assert Event.objects.get().verb == NOTE_READ


def test_every_verb_is_known_by_its_stored_value():
    found = sentences()
    assert {"note.read", "gold.frozen", "run.started"} <= set(found)
    assert list(found.values()) == sorted(found.values())
    longest = Event._meta.get_field("verb").max_length
    assert [verb for verb in found if len(verb) > longest] == []


def test_a_verb_is_defined_once():
    with pytest.raises(ValueError, match="defined twice"):
        Verb[NoData](str(NOTE_READ), "read a note")
    assert sentences()["note.read"] == "opened a note"


def test_a_copy_of_a_verb_is_its_stored_value():
    for made in (copy.copy(NOTE_READ), copy.deepcopy(NOTE_READ), pickle.loads(pickle.dumps(NOTE_READ))):
        assert type(made) is str and made == NOTE_READ == "note.read"


@pytest.mark.skipif(connection.vendor != "sqlite", reason="PostgreSQL groups commits by itself")
def test_only_readings_go_to_the_disk_with_the_next_commit(monkeypatch):
    quick = []
    plain = DatabaseWrapper.without_waiting

    def without_waiting(self):
        quick.append(Event.objects.count())
        return plain(self)

    monkeypatch.setattr(DatabaseWrapper, "without_waiting", without_waiting)
    note = make.make_note(make.make_project())
    NOTE_READ.record(note=note)
    SET_SEEDED.record(note=note, data={})
    assert quick == [0] and Event.objects.count() == 2
