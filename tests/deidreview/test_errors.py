import pytest
from django.test import Client

from deidreview import views
from tests.factories import make_user

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.deidreview.test_headers")]
TOLD = [b"What happened", b"Your data", b"What to do"]


@pytest.fixture
def browser(db):
    client = Client(raise_request_exception=False)
    client.force_login(make_user("ada"))
    return client


@pytest.mark.parametrize(
    ("url", "status"), [("/malformed", 400), ("/closed", 403), ("/nowhere", 404), ("/broken", 500)]
)
def test_error_pages_say_what_happened_what_was_kept_and_what_to_do(browser, url, status):
    response = browser.get(url)
    assert response.status_code == status
    assert all(words in response.content for words in TOLD)
    assert b"Mario" not in response.content and b"Traceback" not in response.content


@pytest.mark.parametrize(
    ("url", "status", "code"),
    [("/malformed", 400, "bad-request"), ("/closed", 403, "forbidden"), ("/nowhere", 404, "not-found"),
     ("/broken", 500, "failed")],
)  # fmt: skip
def test_scripts_get_json(browser, url, status, code):
    response = browser.get(url, headers={"Accept": "application/json"})
    assert response.status_code == status and response.json() == {"error": code}


def test_a_wrong_host_name_is_explained(settings):
    settings.ALLOWED_HOSTS = ["right.example"]
    response = Client().get("/nowhere", headers={"host": "wrong.example"})
    assert response.status_code == 400 and b"DEIDREVIEW_HOSTS" in response.content


def test_strangers_get_the_same_404(client):
    assert client.get("/nowhere").status_code == 404


def test_the_500_page_needs_no_database(rf, django_db_blocker):
    with django_db_blocker.block():
        response = views.failed(rf.get("/"))
    assert response.status_code == 500 and b"Server error" in response.content


def test_the_500_page_does_not_even_need_its_template(rf, settings, monkeypatch):
    monkeypatch.setattr(views, "render_to_string", lambda *args: 1 / 0)
    response = views.failed(rf.get("/"))
    assert response.status_code == 500 and b"Server error" in response.content


def test_a_form_without_its_token_says_that_the_page_is_stale():
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(make_user())
    page = strict.post("/accounts/password/change/", {"oldpassword": "x"})
    assert page.status_code == 403 and b"out of date" in page.content and all(words in page.content for words in TOLD)
    json = strict.post("/accounts/password/change/", "{}", content_type="application/json")
    assert json.status_code == 403 and json.json() == {"error": "stale-page"}


def test_too_many_wrong_old_passwords_get_our_error_page(browser):
    for _ in range(6):
        response = browser.post("/accounts/password/change/", {"oldpassword": "wrong"})
    assert response.status_code == 429 and all(words in response.content for words in TOLD)
