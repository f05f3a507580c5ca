"""Search by the name of a note."""

import pytest

from annotations.core.access import enter
from annotations.models import Search
from annotations.notes.selectors.notes import Show, note_page
from tests import factories as make
from tests.notes.note_pages import listing, names
from tests.worlds.checks import check_page

pytestmark = pytest.mark.both_databases


def test_a_search_by_name_keeps_the_words_out_of_the_url(world, sign_in):
    client = sign_in(world.mia)
    response = client.post(listing(), {"name": "SO-002"})
    assert response.status_code == 302
    assert "002" not in response.url
    html = check_page(client.get(response.url))
    assert names(html) == ["caso-002"]
    assert "SO-002" in html


def test_a_search_looks_only_at_notes_one_may_open(world, sign_in):
    make.make_note(world.project, name="caso-777")
    make.make_note(world.other, name="caso-778")
    client = sign_in(world.ann)
    html = check_page(client.get(client.post(listing(), {"name": "77"}).url))
    assert "No matching note names" in html
    client = sign_in(world.mia)
    assert names(check_page(client.get(client.post(listing(), {"name": "77"}).url))) == ["caso-777"]


def test_results_of_a_search_come_in_pages(world):
    for n in range(10, 17):
        make.make_note(world.project, name=f"x-{30 - n}")
    access = enter(world.mia, "covid")
    first = note_page(access, Show.ALL, name="x-", size=3)
    second = note_page(access, Show.ALL, name="x-", after=first.next, size=3)
    assert [row.name for row in first.rows + second.rows] == ["x-14", "x-15", "x-16", "x-17", "x-18", "x-19"]
    back = note_page(access, Show.ALL, name="x-", before=second.previous, size=3)
    assert back.rows == first.rows
    assert back.previous is None


def test_an_empty_or_expired_search_shows_all(world, sign_in):
    client = sign_in(world.mia)
    assert client.post(listing(), {"name": "  "}).url == listing()
    assert "This search has expired" in check_page(client.get(listing("?found=nothing")))


def test_a_limited_number_of_searches_is_kept_and_none_in_the_session(world, sign_in):
    client = sign_in(world.mia)
    for n in range(25):
        last = client.post(listing(), {"name": f"caso-{n}"}).url
    assert Search.objects.filter(user=world.mia).count() == 20
    assert "caso-24" not in str(dict(client.session))
    # Searches by name are not listed among text searches.
    assert "caso-24" not in client.get("/projects/covid/search/").content.decode()
    assert "This search has expired" not in client.get(last).content.decode()
