"""Events are append-only, in Python and in the database itself."""

import pytest
from django.db import DatabaseError, connection, transaction

from annotations.core.events import record
from annotations.models import Event, Verb

pytestmark = pytest.mark.django_db


def test_python_refuses_to_change_an_event():
    event = record(verb=Verb.NOTE_READ)
    with pytest.raises(TypeError, match="append-only"):
        event.save()
    with pytest.raises(TypeError, match="append-only"):
        event.delete()
    with pytest.raises(TypeError, match="append-only"):
        Event.objects.update(verb="x")
    with pytest.raises(TypeError, match="append-only"):
        Event.objects.all().delete()


def test_the_database_refuses_to_change_an_event():
    record(verb=Verb.NOTE_READ)
    with pytest.raises(DatabaseError, match="append-only"), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("UPDATE annotations_event SET verb = 'x'")
    assert Event.objects.get().verb == Verb.NOTE_READ
