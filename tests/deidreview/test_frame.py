"""The frame of every page: navigation by role, the current tab, the menu, the skip link."""

import re

import pytest
from django.template.loader import render_to_string
from django.urls import reverse

from tests.factories import make_member, make_project

pytestmark = pytest.mark.django_db
_FIRST = ["Overview", "Notes", "Search"]
_LAST = ["Runs", "Models", "Gold", "Scores"]
_REVIEWED = [_LAST[0], "Review", *_LAST[1:]]
TABS = {
    "viewer": [*_FIRST, "Guidelines", "Agreement", *_LAST, "Jobs"],
    "annotator": [*_FIRST, "Guidelines"],
    "reviewer": [*_FIRST, "Guidelines", "Agreement", "Adjudicate", *_REVIEWED, "Export", "Jobs"],
    "manager": [*_FIRST, "Import", "Labels", "People", "Guidelines", "Agreement", "Adjudicate", *_REVIEWED, "Export",
                "Jobs", "Audit", "Settings"],
}  # fmt: skip


def tabs(page: str) -> list[str]:
    nav = re.search(r'<ul class="tabs">(.*?)</ul>', page, re.DOTALL)
    return re.findall(r">([A-Z]\w+)</a>", nav[1]) if nav else []


@pytest.mark.parametrize("role", TABS)
def test_the_tabs_of_a_role(client, role):
    project = make_project("covid")
    client.force_login(make_member(project, role))
    page = client.get(reverse("guidelines", args=["covid"])).content.decode()
    assert tabs(page) == TABS[role]
    nav = re.search(r'<ul class="tabs">(.*?)</ul>', page, re.DOTALL)[1]
    for url in re.findall(r'href="([^"]+)"', nav):
        assert client.get(url).status_code == 200, url
    assert re.search(r'aria-current="page">Guidelines<', page)


def test_outside_a_project_there_are_none(client, person):
    client.force_login(person)
    page = client.get("/accounts/2fa/").content.decode()
    assert tabs(page) == [] and "Sign out" in page and 'href="#main"' in page and 'id="main"' in page


def test_htmx_is_configured_strictly(client):
    page = client.get("/accounts/login/").content.decode()
    for setting in ('"historyCacheSize": 0', '"includeIndicatorStyles": false', '"allowEval": false',
                    '"allowScriptTags": false', '"selfRequestsOnly": true'):  # fmt: skip
        assert setting in page
    assert re.search(r"<body[^>]* hx-headers='{\"X-CSRFToken\": \"\w{64}\"}'", page)


def test_help_and_errors_belong_to_their_field(client, person):
    client.force_login(person)
    page = client.post("/accounts/password/change/", {"oldpassword": "x"}).content.decode()
    field = re.search(r'<input[^>]*name="password1"[^>]*>', page)[0]
    for target in re.search(r'aria-describedby="([^"]+)"', field)[1].split():
        assert f'id="{target}"' in page


def test_confirming_needs_no_script(rf):
    html = render_to_string(
        "includes/confirm.html",
        {"button": "Erase", "question": "Erase <4> notes?", "url": "/x", "name": "patient", "value": "7"},
        request=rf.get("/"),
    )
    assert "<details" in html and 'method="post"' in html and "&lt;4&gt;" in html and "csrfmiddlewaretoken" in html


def test_pagination_keeps_the_filter(rf):
    from django.core.paginator import Paginator

    html = render_to_string(
        "includes/pagination.html",
        {"page": Paginator(range(95), 10).page(2), "what": "notes"},
        request=rf.get("/?state=draft&page=2"),
    )
    assert "11–20 of 95 notes" in html
    assert 'href="?state=draft&amp;page=1"' in html and 'href="?state=draft&amp;page=3"' in html


def test_polling_does_not_count_as_activity():
    """Requests of a timer have a header; without it, the automatic logoff would never happen."""
    from pathlib import Path

    for file in (Path(__file__).resolve().parents[2] / "templates").rglob("*.html"):
        for tag in re.findall(r"<[^<]*hx-trigger=\"[^\"]*\bevery\b[^>]*>", file.read_text()):
            assert "X-Background" in tag, file
