"""What a page tells once, after a redirect: kept on the server until it is shown, and never with the name of a note."""

import pytest
from django.conf import settings

from tests import factories as make
from tests.worlds.checks import check_page

SPANS = [(0, 11, "PATIENT")]


@pytest.fixture
def told(world, sign_in):
    """A manager's browser, after gold was made of a reading."""
    reading = make.make_set(world.note, world.ann, SPANS, submitted=True)
    client = sign_in(world.mia)
    world.answer = client.post(f"/projects/covid/notes/{world.note.pk}/gold", {"set": reading.pk, "version": 0})
    world.client = client
    return world


def test_it_is_in_no_cookie_and_names_no_note(told):
    assert told.answer.status_code == 302
    assert set(told.answer.cookies) <= {settings.SESSION_COOKIE_NAME, settings.CSRF_COOKIE_NAME}
    assert "is gold" in str(told.client.session["_messages"])
    assert told.note.name not in str(dict(told.client.session))


def test_it_is_shown_once_and_then_nowhere(told):
    assert "The reading by ann is gold." in check_page(told.client.get(told.answer.url))
    assert "_messages" not in told.client.session
    assert "The reading by ann is gold." not in told.client.get(told.answer.url).content.decode()
