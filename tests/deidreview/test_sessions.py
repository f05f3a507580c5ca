"""What sessions hold is read from the database, and only what this installation signed."""

import pytest
from django.contrib.sessions.models import Session

from deidreview.sessions import SessionStore

pytestmark = pytest.mark.django_db


def test_each_reading_gets_its_own_content_as_stored():
    store = SessionStore()
    store["nested"] = [1]
    store.save()
    for _ in range(2):
        read = SessionStore(store.session_key)
        assert read["nested"] == [1]
        read["nested"].append(2)  # without saving
    store["nested"] = [3]
    store.save()
    assert SessionStore(store.session_key)["nested"] == [3]
    store.flush()
    assert "nested" not in SessionStore(store.session_key)


def test_content_with_a_wrong_signature_is_no_session():
    store = SessionStore()
    store["person"] = 1
    store.save()
    data = Session.objects.get().session_data
    Session.objects.update(session_data=f"{data[:-1]}{'a' if data[-1] != 'a' else 'b'}")
    for _ in range(2):
        assert "person" not in SessionStore(store.session_key)
