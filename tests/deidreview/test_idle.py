import pytest
from django.conf import settings
from django.contrib.auth import get_user
from django.contrib.sessions.models import Session

from deidreview.sessions import SessionStore

pytestmark = pytest.mark.django_db
PAGE = "/accounts/password/change/"


@pytest.fixture
def signed_in(client, person, clock, sign_in):
    sign_in(client)
    client.get(PAGE)
    return client


def test_inactivity_signs_out_and_says_why(signed_in, clock):
    clock.forward(minutes=settings.IDLE_MINUTES + 0.1)
    response = signed_in.get(PAGE)
    assert response.headers["Location"] == f"/accounts/login/?next={PAGE}"
    assert not get_user(signed_in).is_authenticated
    assert b"signed out after 30 minutes" in signed_in.get(response.headers["Location"]).content


def test_activity_keeps_a_person_signed_in(signed_in, clock):
    for _ in range(6):
        clock.forward(minutes=settings.IDLE_MINUTES * 0.6)
        assert signed_in.get(PAGE).status_code == 200


def test_polling_does_not_keep_a_person_signed_in(signed_in, clock):
    for _ in range(2):
        clock.forward(minutes=settings.IDLE_MINUTES * 0.6)
        response = signed_in.get(PAGE, headers={"X-Background": "1", "HX-Request": "true"})
    assert response.status_code == 401 and "HX-Redirect" in response.headers


def test_what_is_sent_too_late_is_refused_and_not_repeated_after_signing_in(signed_in, clock, sign_in):
    clock.forward(minutes=settings.IDLE_MINUTES + 1)
    response = signed_in.post(PAGE, "{}", content_type="application/json")
    assert response.status_code == 401 and response.json() == {"error": "signed-out"}
    sign_in(signed_in)
    signed_in.get(PAGE)
    clock.forward(minutes=settings.IDLE_MINUTES + 1)
    assert signed_in.post(PAGE, {}).headers["Location"] == "/accounts/login/"


def test_the_session_is_not_written_with_every_request(signed_in, clock, django_assert_num_queries):
    clock.forward(minutes=0.5)
    with django_assert_num_queries(2):  # the session, the person
        signed_in.get(PAGE)


# ── What sessions hold is read from the database, and only what this installation signed ──


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
