"""The list of notes beside the note under review: the stage of each note, and the ends of the list."""

import re
from html import unescape

import pytest
from django.urls import reverse

from annotations.review.selectors import listing as review_list
from tests import factories as make
from tests.review.test_two_reviewers_views import decide, post, two
from tests.worlds.checks import check_page
from tests.worlds.reviewing import suggested

__all__ = ["suggested", "two"]  # the fixtures

LINE = re.compile(
    r'<li><a href="([^"]+)" data-keeps( aria-current="page")? class="is-(\w+)">.*?<span class="name" title="(.*?)">'
)


def more_notes(world, *names):
    """More notes that the run has processed."""
    notes = [make.make_note(world.project, "Torna il 12/03/2021.", name) for name in names]
    for note in notes:
        make.make_set(note, world.run, [(9, 19, "DATE")], submitted=True)
    return notes


def address(world, note):
    return reverse("review", args=["covid", world.run.pk, note.pk])


def lines(world, who, note=None, query=""):
    html = check_page(world.clients[who].get(address(world, note or world.note) + query))
    return [(unescape(href), bool(here), stage, unescape(name)) for href, here, stage, name in LINE.findall(html)], html


def stages(world, who):
    return [stage for _, _, stage, _ in lines(world, who)[0]]


def test_every_note_shows_its_stage(two):
    more_notes(two, "caso <b>due</b>")
    found, html = lines(two, "rev", query="?order=label&text=Rossi")
    assert [(here, stage, name) for _, here, stage, name in found] == [
        (True, "open", two.note.name),
        (False, "open", "caso <b>due</b>"),
    ]
    assert all(href.endswith("/?order=label") for href, *_ in found), (
        "links keep the filters, but not the searched text"
    )
    assert "0 of 2 reviewed" in html
    decide(two, "rev", "accept", two.name)
    assert stages(two, "rev") == ["begun", "open"]
    decide(two, "rev", "accept", two.place)
    post(two, "rev", "review_finish", stage="first")
    assert stages(two, "rev") == ["waiting", "open"]
    assert stages(two, "mia") == ["second", "open"]
    for suggestion in (two.name, two.place):
        decide(two, "mia", "accept", suggestion)
    post(two, "mia", "review_finish", stage="second")
    assert stages(two, "mia") == stages(two, "rev") == ["done", "open"]


@pytest.mark.parametrize(
    ("at", "shown", "earlier", "later"),
    [(0, [0, 1, 2], None, 3), (2, [0, 1, 2, 3, 4], None, None), (4, [2, 3, 4], 1, None)],
)
def test_a_long_list_shows_the_neighboring_notes(two, monkeypatch, at, shown, earlier, later):
    monkeypatch.setattr(review_list, "MOST_NEIGHBORS", 2)
    notes = [two.note, *more_notes(two, "uno", "due", "tre", "quattro")]
    found, html = lines(two, "rev", notes[at])
    assert [name for *_, name in found] == [notes[number].name for number in shown]
    for words, number in (("Earlier notes", earlier), ("Later notes", later)):
        further = re.search(rf'<a class="wb-further" data-keeps href="([^"]+)">{words}</a>', html)
        assert (further[1] if further else None) == (number and address(two, notes[number]))
