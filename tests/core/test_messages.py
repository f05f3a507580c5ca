"""Messages after a redirect: stored on the server until they are shown, and without the names of notes."""

import pytest
from django.conf import settings

from tests import factories as make
from tests.worlds.checks import check_page

SPANS = [(0, 11, "PATIENT")]


@pytest.fixture
def after_gold(world, sign_in):
    """The client of a manager who has just made an annotation set gold, and the answer."""
    annotation_set = make.make_set(world.note, world.ann, SPANS, submitted=True)
    client = sign_in(world.mia)
    world.answer = client.post(f"/projects/covid/notes/{world.note.pk}/gold", {"set": annotation_set.pk, "version": 0})
    world.client = client
    return world


def test_the_message_is_in_no_cookie_and_names_no_note(after_gold):
    assert after_gold.answer.status_code == 302
    assert set(after_gold.answer.cookies) <= {settings.SESSION_COOKIE_NAME, settings.CSRF_COOKIE_NAME}
    assert "are now gold" in str(after_gold.client.session["_messages"])
    assert after_gold.note.name not in str(dict(after_gold.client.session))


def test_the_message_is_shown_once(after_gold):
    assert "The annotations of ann are now gold." in check_page(after_gold.client.get(after_gold.answer.url))
    assert "_messages" not in after_gold.client.session
    assert "The annotations of ann are now gold." not in after_gold.client.get(after_gold.answer.url).content.decode()
