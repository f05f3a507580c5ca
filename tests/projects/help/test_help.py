"""The guide inside the app: every page of docs/guide, its links and images."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib.staticfiles import finders
from django.urls import reverse

from annotations.projects.selectors.help import files, page_of
from tests import factories as make
from tests.worlds.checks import check_page

PAGES = sorted(files())


@pytest.fixture
def reader(db, client):
    client.force_login(make.make_user("vic"))
    return client


def url(name):
    return "/help/" if name == "README" else f"/help/{name}/"


@pytest.mark.parametrize("name", PAGES)
def test_each_page_is_shown_with_the_others_and_its_links_lead_somewhere(reader, name):
    shown, html = check_page(reader.get(url(name))), str(page_of(name).html)
    assert page_of(name).title in shown
    assert [other for other in PAGES if f'href="{url(other)}"' not in shown] == []
    for link in re.findall(r'href="([^"#]+)', html):
        assert reader.get(link).status_code == 200, link
    for image in re.findall(r'src="/static/([^"]+)"', html):
        assert finders.find(image), image
    assert ".md" not in "".join(re.findall(r'(?:href|src)="([^"]+)"', html))


@pytest.mark.parametrize("file", sorted(Path(settings.DOCS_DIR, "guide").glob("*.md")), ids=lambda file: file.stem)
def test_links_and_images_of_the_files_exist(file):
    for target in re.findall(r"\]\(([^)#]+)", file.read_text(encoding="utf-8")):
        assert (file.parent / target).exists(), target


def test_each_screen_links_to_its_section_for_the_role(db, client):
    project = make.make_project("ward")
    for role, name, section in (
        ("viewer", "notes", "viewer/#notes"),
        ("reviewer", "adjudications", "reviewer/#adjudicate"),
        ("reviewer", "notes", "annotator/#notes"),
        ("manager", "people", "manager/#project"),
        ("manager", "acceptance", "reviewer/#review"),
    ):
        client.force_login(make.make_member(project, role))
        assert f'href="/help/{section}"' in check_page(client.get(reverse(name, args=["ward"])))


def test_without_a_project_the_link_leads_to_the_list(reader):
    assert 'href="/help/"' in check_page(reader.get("/")) and reader.get("/help/nowhere/").status_code == 404
