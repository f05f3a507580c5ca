"""The agreement page: the same numbers as the command, with their unit, and what they leave out."""

import pytest
from django.urls import reverse

from tests import factories as make
from tests.pages.checks import check_page


@pytest.fixture
def url(world):
    return reverse("agreement", args=[world.project.slug])


@pytest.fixture
def read(world):
    """Both annotators submitted the first note; they differ in how much of the age they mark."""
    make.make_set(world.note, world.ann, [(0, 11, "PATIENT"), (13, 15, "AGE")], submitted=True)
    make.make_set(world.note, world.ben, [(0, 11, "PATIENT"), (13, 20, "AGE")], submitted=True)
    return world


def test_figures_with_their_unit(read, sign_in, url):
    html = check_page(sign_in(read.rev).get(url))
    # 21 tokens (4 marked by somebody, 17 by nobody); one of them differs.
    assert "20" in html
    assert "0.95" in html
    assert "marked by nobody" in html
    assert "Nothing: there are no drafts" in html


def test_every_unit_has_its_page(read, sign_in, url):
    client = sign_in(read.vic)
    for unit, bio in (("token", True), ("marked", True), ("character", False), ("entity", False), ("nonsense", True)):
        html = check_page(client.get(url, {"unit": unit}))
        assert ("BIO" in html) == bio, unit


def test_no_figures_yet_says_what_is_missing(world, sign_in, url):
    make.make_set(world.note, world.ann, [(0, 11, "PATIENT")])
    html = check_page(sign_in(world.mia).get(url))
    assert "No figures yet" in html
    assert "1 draft" in html


def test_undefined_says_why(world, sign_in, url):
    for person in (world.ann, world.ben):
        make.make_set(world.note, person, [], submitted=True)
    html = check_page(sign_in(world.mia).get(url))
    assert "undefined" in html
    assert "only one value" in html


def test_annotators_and_strangers(world, sign_in, url):
    assert sign_in(world.ann).get(url).status_code == 403
    assert sign_in(world.out).get(url).status_code == 404
    assert sign_in(world.mia).post(url).status_code == 405
