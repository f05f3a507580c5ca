"""Messages after a redirect: stored on the server until they are shown, and without the names of notes."""

from django.conf import settings

from tests import factories as make
from tests.worlds.checks import check_page


def test_a_message_is_shown_once_and_is_in_no_cookie(world, sign_in):
    annotation_set = make.make_set(world.note, world.ann, [(0, 11, "PATIENT")], submitted=True)
    mia, sent = sign_in(world.mia), {"set": annotation_set.pk, "version": 0}
    answer = mia.post(f"/projects/covid/notes/{world.note.pk}/gold", sent)
    assert answer.status_code == 302
    assert set(answer.cookies) <= {settings.SESSION_COOKIE_NAME, settings.CSRF_COOKIE_NAME}
    assert "are now gold" in str(mia.session["_messages"]) and world.note.name not in str(dict(mia.session))
    assert "are now gold" in check_page(mia.get(answer.url)) and "_messages" not in mia.session
    assert "are now gold" not in mia.get(answer.url).content.decode()
