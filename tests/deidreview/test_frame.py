"""The frame of every page: navigation by role, the current tab, the menu, the skip link."""

import re
from pathlib import Path
from unittest.mock import patch

import pytest
from django.core.paginator import Paginator
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone
from lxml import html

from annotations.models import Flag, Job, Review, User
from tests.deidreview.access_table import EVERYONE_405, TABLE
from tests.deidreview.access_world import ROUTES, answer_of, as_persona, build_world
from tests.factories import make_author, make_member, make_note, make_project, make_set

pytestmark = pytest.mark.django_db
# The second level by first-level name, for a manager.
SECOND = {
    "Overview": [], "Notes": ["List", "Import", "Search", "Flagged"],
    "Guidelines": ["Text", "Amendments", "Labels", "For agents"], "Agreement": ["Figures", "Disagreements"],
    "Adjudicate": ["By note", "By majority"], "Review": ["By note", "By string", "In bulk", "Acceptance"],
    "Models": ["Loop", "Runs", "Trained", "Backends", "Compare", "Refinements", "Injected errors"],
    "Gold": ["Gold set", "Versions", "Statistics", "Scores", "Judges", "Export"],
    "Release": ["Releases", "Feeds", "Policies", "Audits", "Surrogates", "Records", "Schemas"],
}  # fmt: skip
# What other roles don't see, of both levels.
FOR_MANAGERS = {"For agents", "Injected errors", "Refinements", "Import", "Labels"}
LESS = {
    "viewer": {*FOR_MANAGERS, "Adjudicate", "Release", "By note", "By string", "In bulk", "Export"},
    "annotator": {*FOR_MANAGERS, *list(SECOND)[3:]},
    "reviewer": {*FOR_MANAGERS, "Releases", "Feeds", "Policies", "Surrogates", "Records", "Schemas"},
    "manager": set(),
}
GEAR = ["Settings", "People", "Assignment", "Patients", "Known identifiers", "Audit", "Webhooks"]


class Header:
    """The links in the header of a page, each with its level (first, second, gear, account or own), name and URL."""

    def __init__(self, page: str) -> None:
        self.links: list[tuple[str, str, str]] = []
        self._current: list[tuple[str, str]] = []
        for link in html.fromstring(page).find(".//header").iter("a"):
            around = [link, *link.iterancestors("ul", "details", "ol", "span")]
            classes, lists = (
                " ".join(each.get("class", "") for each in around),
                sum(each.tag == "ul" for each in around),
            )
            if "crumbs" in classes:
                continue
            level = "gear" if "gear-menu" in classes else "account" if "menu" in classes else "own"
            level = ["first", "second"][min(lists, 2) - 1] if lists else level
            name = "".join(link.xpath('.//text()[not(ancestor::*[contains(@class, "count")])]')).strip()
            self.links.append((level, name, link.get("href")))
            if link.get("aria-current"):
                self._current.append((level, name))

    def current(self, level: str) -> list[str]:
        return [name for of, name in self._current if of == level]

    def shown(self, level: str) -> dict[str, str]:
        """Return the URLs of a level by name."""
        return {name: url for of, name, url in self.links if of == level}


@pytest.mark.parametrize("role", LESS)
def test_the_navigation_of_a_role(client, role):
    """Both levels, of every group. For managers and annotators, each link opens a page that marks it."""
    client.force_login(make_member(make_project("covid"), role))

    def header_of(url: str) -> Header:
        opened = client.get(url)
        assert opened.status_code == 200, url
        return Header(opened.content.decode())

    frame = header_of(reverse("guidelines", args=["covid"]))
    assert list(frame.shown("first")) == [name for name in SECOND if name not in LESS[role]]
    assert list(frame.shown("gear")) == (GEAR if role == "manager" else [])
    for group, url in frame.shown("first").items():
        expected = [name for name in SECOND[group] if name not in LESS[role]]
        second = header_of(url).shown("second")
        assert list(second) == (expected if len(expected) > 1 else [])
        for name, inner in second.items() if role in ("manager", "annotator") else ():
            header = header_of(inner)
            # A link to a part of a page can't be the current one of that page.
            current = [name] if "#" not in inner else expected[:1]
            assert (header.current("first"), header.current("second")) == ([group], current)
    for name, url in frame.shown("gear").items():
        assert header_of(url).current("gear") == ([name] if "#" not in url else ["Settings"])


def test_every_page_of_a_project_has_an_entry(fast_requests, nightly):
    """A page marks one entry of the first level, and one of the second if there is one. By day a third of the pages."""
    world = build_world()
    # Lists that redirect while there is a single run.
    make_author(world.ours, kind="run", name="rules-2")
    inside = [name for name, pattern in ROUTES.items() if pattern.startswith("projects/<slug:slug>/")]
    lost, seen = {}, set()
    for persona in ("manager", *(["annotator", "reviewer", "viewer"] if nightly else [])):
        client = as_persona(world, persona)
        for name in [name for name in inside if TABLE[name]["GET"] != EVERYONE_405][:: 1 if nightly else 3]:
            page = answer_of(client, "GET", name, world)
            content = page.content.decode() if page.status_code == 200 and not page.streaming else ""
            if 'class="site-head"' not in content:
                continue
            header = Header(content)
            seen.add(name)
            levels = {level: header.current(level) for level in ("first", "second", "gear", "account", "own")}
            second = bool(header.shown("second"))
            if sum(map(len, levels.values())) != 1 + second or len(levels["second"]) != second:
                lost[f"{name} as {persona}"] = levels
    assert lost == {} and len(seen) > (60 if nightly else 20)


def test_an_annotator_gets_no_number_of_others(client):
    """Counters: a manager sees how many notes wait; an annotator only the flags that they may see."""
    project = make_project("covid")
    ann, ben, mia = (make_member(project, role, role[:3]) for role in ("annotator", "reviewer", "manager"))
    note, other = make_note(project, annotators=[ann]), make_note(project)
    run = make_author(project, kind="run", name="rules-1")
    for one in (note, other):
        make_set(one, run, [(0, 11, "PATIENT")], submitted=True)
        Flag.objects.create(document=one, user=ben, reason=Flag.Reason.UNSURE)
    url = reverse("notes", args=["covid"])

    def numbers(user: User) -> list[str]:
        client.force_login(user)
        return re.findall(r'(\w+)<span class="count">(\d+\+?)</span>', client.get(url).content.decode())

    assert numbers(mia) == [("Flagged", "2"), ("Review", "2")]
    assert numbers(ann) == []
    Review.objects.create(document=note, author=run, finished_at=timezone.now())
    for user in (ann, ben):
        make_set(note, user, [(0, 11, "PATIENT")], submitted=True)
    assert numbers(mia) == [("Flagged", "2"), ("Adjudicate", "1"), ("Review", "1")]
    assert numbers(ann) == []


def test_the_jobs_in_the_header(client, settings, tmp_path):
    """How many run, wait and failed, and whether workers are missing; nothing for annotators."""
    settings.REDIS_URL = f"unix://{tmp_path}/nothing.sock"
    project = make_project("covid")
    client.force_login(make_member(project, "viewer"))
    url = reverse("guidelines", args=["covid"])

    def said() -> list[str]:
        header = client.get(url).content.decode().partition("</header>")[0]
        return re.findall(r'<span class="sr-only">([^<]*\.)</span>', header)

    assert said() == []
    for number, state in enumerate(["running", "queued", "failed", "failed", "done"]):
        Job.objects.create(project=project, kind="gold", key=f"k{number}", state=state)
    counted = ["1 job is running.", "1 job is waiting.", "2 jobs failed."]
    assert said() == [*counted, "The queue (Redis) does not respond."]
    for workers, more in ((0, ["No worker is running."]), (1, [])):
        with patch("annotations.jobs.templatetags.job_indicator.workers_alive", return_value=workers):
            assert said() == [*counted, *more]
    client.force_login(make_member(project, "annotator"))
    assert said() == [] and "/jobs/" not in client.get(url).content.decode()


def test_outside_a_project_there_are_none(client, person):
    client.force_login(person)
    page = client.get("/accounts/2fa/").content.decode()
    assert not Header(page).shown("first") and 'href="#main"' in page and 'id="main"' in page
    page = client.post("/accounts/password/change/", {"oldpassword": "x"}).content.decode()
    # Help and errors belong to their field.
    field = re.search(r'<input[^>]*name="password1"[^>]*>', page)[0]
    for target in re.search(r'aria-describedby="([^"]+)"', field)[1].split():
        assert f'id="{target}"' in page


def test_htmx_is_configured_strictly(client):
    page = client.get("/accounts/login/").content.decode()
    assert '"historyCacheSize": 0' in page and '"selfRequestsOnly": true' in page
    assert all(f'"{name}": false' in page for name in ("includeIndicatorStyles", "allowEval", "allowScriptTags"))
    assert re.search(r"<body[^>]* hx-headers='{\"X-CSRFToken\": \"\w{64}\"}'", page)


def test_pagination_keeps_the_filter(rf):
    shown = {"page": Paginator(range(95), 10).page(2), "what": "notes"}
    links = render_to_string("includes/pagination.html", shown, request=rf.get("/?state=draft&page=2"))
    assert "11–20 of 95 notes" in links
    assert 'href="?state=draft&amp;page=1"' in links and 'href="?state=draft&amp;page=3"' in links


def test_polling_does_not_count_as_activity():
    """Requests of a timer have a header; without it, the automatic logoff would never happen."""
    for file in (Path(__file__).resolve().parents[2] / "templates").rglob("*.html"):
        for tag in re.findall(r"<[^<]*hx-trigger=\"[^\"]*\bevery\b[^>]*>", file.read_text()):
            assert "X-Background" in tag, file
