"""The frame of every page: navigation by role, the current tab, the menu, the skip link."""

import re
from html.parser import HTMLParser
from unittest.mock import patch

import pytest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import timezone

from annotations.models import Flag, Job, Review, User
from tests.deidreview.access_table import EVERYONE_405, TABLE
from tests.deidreview.access_world import ROUTES, answer_of, as_persona, build_world
from tests.factories import make_author, make_member, make_note, make_project, make_set

pytestmark = pytest.mark.django_db
FIRST = {
    "viewer": ["Overview", "Notes", "Guidelines", "Agreement", "Review", "Models", "Gold"],
    "annotator": ["Overview", "Notes", "Guidelines"],
    "reviewer": ["Overview", "Notes", "Guidelines", "Agreement", "Adjudicate", "Review", "Models", "Gold", "Release"],
    "manager": ["Overview", "Notes", "Guidelines", "Agreement", "Adjudicate", "Review", "Models", "Gold", "Release"],
}
# The second level by first-level name, for a manager.
SECOND = {
    "Overview": [],
    "Notes": ["List", "Import", "Search", "Flagged"],
    "Guidelines": ["Text", "Amendments", "Labels", "For agents"],
    "Agreement": ["Figures", "Disagreements"],
    "Adjudicate": ["By note", "By majority"],
    "Review": ["By note", "By string", "In bulk", "Acceptance"],
    "Models": ["Loop", "Runs", "Trained", "Backends", "Compare", "Refinements", "Injected errors"],
    "Gold": ["Gold set", "Versions", "Statistics", "Scores", "Judges", "Export"],
    "Release": ["Releases", "Policies", "Audits", "Surrogates"],
}
FOR_MANAGERS = {"For agents", "Injected errors", "Refinements"}
LESS = {
    "viewer": {*FOR_MANAGERS, "Import", "Labels", "By note", "By string", "In bulk", "Export"},
    "annotator": {*FOR_MANAGERS, "Import", "Labels"},
    "reviewer": {*FOR_MANAGERS, "Import", "Labels", "Releases", "Policies", "Surrogates"},
    "manager": set(),
}
GEAR = ["Settings", "People", "Assignment", "Patients", "Known identifiers", "Audit", "Webhooks"]


def tabs(page: str) -> list[str]:
    """Return the names of the first level."""
    return [str(link["name"]) for link in Header.of(page).links if link["level"] == "first"]


def show(page: str, level: str) -> list[tuple[str, str]]:
    """Return the links of a level, as (name, URL)."""
    return [(str(link["name"]), str(link["url"])) for link in Header.of(page).links if link["level"] == level]


class Header(HTMLParser):
    """The links in the header of a page with their level: first, second, gear, account, or own."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[dict[str, object]] = []
        self._open: list[tuple[str, str]] = []
        self._link: dict[str, object] | None = None

    @classmethod
    def of(cls, page: str) -> "Header":
        found = cls()
        found.feed(page[page.index("<header") : page.index("</header>")])
        return found

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag in ("ul", "details", "ol", "a", "span"):
            self._open.append((tag, values.get("class", "")))
        if tag == "a":
            classes = " ".join(names for _tag, names in self._open)
            lists = sum(tag == "ul" for tag, _names in self._open)
            level = "first" if lists == 1 else "second" if lists else ""
            if not level:
                level = "gear" if "gear-menu" in classes else "account" if "menu" in classes else "own"
            self._link = {"level": level, "name": "", "url": values["href"], "current": values.get("aria-current", "")}
            if "crumbs" not in classes:
                self.links.append(self._link)

    def handle_endtag(self, tag: str) -> None:
        if tag in ("ul", "details", "ol", "a", "span") and self._open:
            self._open.pop()
        if tag == "a":
            self._link = None

    def handle_data(self, data: str) -> None:
        if self._link is not None and not any("count" in names for _tag, names in self._open):
            self._link["name"] = f"{self._link['name']}{data}".strip()

    def current(self, level: str) -> list[str]:
        return [str(link["name"]) for link in self.links if link["level"] == level and link["current"]]


@pytest.mark.parametrize("role", FIRST)
def test_the_navigation_of_a_role(client, role):
    """Both levels, of every group; each link opens, and the page that it opens marks it."""
    project = make_project("covid")
    client.force_login(make_member(project, role))
    page = client.get(reverse("guidelines", args=["covid"])).content.decode()
    assert tabs(page) == FIRST[role]
    assert [name for name, _url in show(page, "gear")] == (GEAR if role == "manager" else [])
    for group, url in show(page, "first"):
        opened = client.get(url)
        assert opened.status_code == 200, url
        expected = [name for name in SECOND[group] if name not in LESS[role]]
        header = Header.of(opened.content.decode())
        assert [link["name"] for link in header.links if link["level"] == "second"] == (
            expected if len(expected) > 1 else []
        )
        for name, inner in show(opened.content.decode(), "second"):
            header = Header.of(client.get(inner).content.decode())
            # A link to a part of a page can't be the current one of that page.
            assert header.current("first") == [group] and header.current("second") == (
                [name] if "#" not in inner else expected[:1]
            )
    for name, url in show(page, "gear"):
        header = Header.of(client.get(url).content.decode())
        assert header.current("gear") == ([name] if "#" not in url else ["Settings"])


def test_every_page_of_a_project_has_an_entry(fast_requests, nightly):
    """All addresses of projects: a page marks one entry of the first level, and one of the second if there is one."""
    world = build_world()
    # Lists that redirect while there is a single run.
    make_author(world.ours, kind="run", name="rules-2")
    lost, seen = {}, set()
    for persona in ("manager", "annotator", *(["reviewer", "viewer"] if nightly else [])):
        client = as_persona(world, persona)
        for name, pattern in ROUTES.items():
            if not pattern.startswith("projects/<slug:slug>/") or TABLE[name]["GET"] == EVERYONE_405:
                continue
            page = answer_of(client, "GET", name, world)
            html = page.content.decode() if page.status_code == 200 and not page.streaming else ""
            if 'class="site-head"' not in html:
                continue
            header = Header.of(html)
            seen.add(name)
            levels = {level: header.current(level) for level in ("first", "second", "gear", "account", "own")}
            first = levels["first"] + levels["gear"] + levels["account"] + levels["own"]
            second = any(link["level"] == "second" for link in header.links)
            if len(first) != 1 or len(levels["second"]) != second:
                lost[f"{name} as {persona}"] = levels
    assert lost == {}
    assert {
        "notes",
        "annotate",
        "review",
        "reviews",
        "adjudicate",
        "job",
        "keys",
        "patients",
        "loop",
        "judging",
    } <= seen


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
    waiting = "The queue (Redis) does not respond."
    assert said() == ["1 job is running.", "1 job is waiting.", "2 jobs failed.", waiting]
    with patch("annotations.jobs.templatetags.job_indicator.workers_alive", return_value=0):
        assert said()[-1] == "No worker is running."
    with patch("annotations.jobs.templatetags.job_indicator.workers_alive", return_value=1):
        assert said()[-1] == "2 jobs failed."
    client.force_login(make_member(project, "annotator"))
    assert said() == [] and "/jobs/" not in client.get(url).content.decode()


def test_a_signed_out_page_leads_to_the_sign_in(client):
    assert 'href="/accounts/login/"' in client.get(reverse("account_signup")).content.decode().partition("</header>")[0]
    # The sign-in page itself has the form.
    assert 'href="/accounts/login/"' not in client.get("/accounts/login/").content.decode().partition("</header>")[0]


def test_the_list_of_runs_to_review(client):
    project = make_project("covid")
    client.force_login(make_member(project, "reviewer"))
    url = reverse("reviews", args=["covid"])
    assert "No suggestions left to review" in client.get(url).content.decode()
    runs = [make_author(project, kind="run", name="rules-1")]
    assert client.get(url).url == reverse("review_next", args=["covid", runs[0].pk])
    runs.append(make_author(project, kind="run", name="rules-2"))
    make_set(make_note(project), runs[1], [(0, 11, "PATIENT")], submitted=True)
    page = client.get(url).content.decode()
    assert page.index("rules-2") < page.index("rules-1")
    assert all(reverse("review_next", args=["covid", run.pk]) in page for run in runs)


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
