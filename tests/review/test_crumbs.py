"""The breadcrumbs of pages about many suggestions: the project, then the page, which no page of Models precedes."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from tests import factories as make

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("name", ["review_strings", "review_bulk_new", "acceptance"])
def test_a_page_of_the_second_level_is_directly_below_the_project(client: Client, name: str) -> None:
    project = make.make_project("covid", name="Covid ward")
    client.force_login(make.make_member(project, "reviewer", "rita"))
    html = client.get(reverse(name, args=["covid"])).content.decode()
    (crumbs,) = re.findall(r'<ol class="crumbs">(.*?)</ol>', html, re.S)
    texts = [re.sub(r"<[^>]+>", "", crumb).strip() for crumb in re.findall(r"<li.*?</li>", crumbs, re.S)]
    assert texts[0] == "Covid ward" and len(texts) == 2
