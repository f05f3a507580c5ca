"""Pages show times in the zone that the browser names in a cookie, and in the server's zone without a valid one."""

import json
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.urls import reverse
from django.utils import timezone

from annotations.models import Amendment, Event
from annotations.review.events import REVIEW_REVEALED
from deidreview.middleware import TIME_ZONE_COOKIE as COOKIE
from tests import factories as make

AT = datetime(2026, 11, 23, 23, 5, 33, tzinfo=UTC)
SLUG = "covid"
BACKEND = "allauth.account.auth_backends.AuthenticationBackend"


@pytest.fixture
def project(db):
    project = make.make_project(SLUG)
    Amendment.objects.create(project=project, number=1, text="Rule", guidelines_version=1, at=AT)
    return project


@pytest.fixture
def mia(client, project):
    client.force_login(make.make_member(project, "manager", "mia"), backend=BACKEND)
    return client


def shown(client, zone=None):
    """The page of the amendments for a browser in this zone."""
    if zone is not None:
        client.cookies[COOKIE] = zone
    response = client.get(reverse("amendments", args=[SLUG]))
    assert response.status_code == 200
    return response.content.decode()


@pytest.mark.parametrize(
    ("zone", "time", "iso"),
    [
        ("Europe/Rome", "24 Nov 2026, 00:05", "2026-11-24T00:05:33+01:00"),
        ("America/Argentina/Buenos_Aires", "23 Nov 2026, 20:05", "2026-11-23T20:05:33-03:00"),
        ("Etc/GMT+5", "23 Nov 2026, 18:05", "2026-11-23T18:05:33-05:00"),
    ],
)
def test_times_are_shown_in_the_browsers_zone(mia, zone, time, iso):
    html = shown(mia, zone)
    assert f'<time datetime="{iso}" title="{time}:33 ({zone})">{time}</time>' in html
    assert f'data-time-zone="{zone}"' in html


@pytest.mark.parametrize(
    "value",
    [
        None, "", "UTC+1", "+01:00", "None", "Europe", "Europe/Atlantis", "europe/rome",
        "Europe/Rome\x01", "Europe/R\u00f6m", "/etc/passwd", "../../etc/passwd", "Europe/../Rome", "posix/Europe/Rome",
        "zone.tab", "tzdata.zi", ".", "/", "\\", "\x00", "x" * 5000, "a/" * 900, "<script>alert(1)</script>", "{{ 7 }}",
    ],
)  # fmt: skip
def test_without_a_known_zone_times_are_in_the_servers(mia, settings, value):
    local = AT.astimezone(timezone.get_default_timezone())
    html = shown(mia, value)
    assert f">{local.day} Nov 2026, {local:%H:%M}</time>" in html
    assert f"({settings.TIME_ZONE})" in html and f'data-time-zone="{settings.TIME_ZONE}"' in html


def test_the_zone_ends_with_the_request(mia, settings):
    shown(mia, "Asia/Tokyo")
    assert timezone.get_current_timezone_name() == settings.TIME_ZONE
    mia.raise_request_exception = False
    assert mia.get("/nowhere").status_code == 404
    assert timezone.get_current_timezone_name() == settings.TIME_ZONE
    settings.TIME_ZONE = "Asia/Kolkata"
    assert "24 Nov 2026, 04:35</time>" in shown(mia, "none")


def test_the_first_page_after_signing_in_has_the_zone(client, project):
    make.make_member(project, user="ada")
    login = reverse("account_login")
    assert "js/core/base" in client.get(login).content.decode()
    client.cookies[COOKIE] = "Asia/Tokyo"  # as the script of that page does
    response = client.post(login, {"login": "ada", "password": make.PASSWORD}, follow=True)
    assert 'data-time-zone="Asia/Tokyo"' in response.content.decode()
    assert response.headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize(
    ("zone", "pace"), [("Asia/Tokyo", ""), ("America/New_York", "1 today"), ("Etc/UTC", "1 today")]
)
def test_today_is_the_persons_day(client, project, zone, pace):
    """At 16:00 UTC a new day has begun in Tokyo."""
    with time_machine.travel(datetime(2026, 3, 2, 16, tzinfo=UTC), tick=False):
        ann = make.make_member(project, user="ann")
        note = make.make_note(project, annotators=[ann])
        make.make_set(note, ann, submitted=True, submitted_at=timezone.now() - timedelta(hours=2))
        client.force_login(ann, backend=BACKEND)
        client.cookies[COOKIE] = zone
        assert client.get(reverse("note_data", args=[SLUG, note.pk])).json()["work"]["pace"] == pace


def test_downloads_have_times_with_an_offset(mia, project):
    Event.objects.create(project_id=project.pk, verb=REVIEW_REVEALED, data={"run": 1})
    mia.cookies[COOKIE] = "Asia/Tokyo"
    response = mia.get(reverse("decisions_export", args=[SLUG, "jsonl"]))
    [row] = [json.loads(line) for line in b"".join(response.streaming_content).splitlines()]
    assert datetime.fromisoformat(row["at"]).utcoffset() == timedelta()
