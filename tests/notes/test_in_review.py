"""The draft of an open review is not gold: not in the list of notes, its filters, nor on the page of the note."""

import pytest
from django.urls import reverse

from annotations.models import AnnotationSet, Author, Span
from tests import factories as make
from tests.projects.overview_pages import show, stages
from tests.worlds.checks import check_page

ROSSI, CITY = (0, 11, "PATIENT"), (44, 50, "CITY")
NOTES = reverse("notes", args=["covid"])


@pytest.fixture
def reviewed(world, sign_in):
    """The first note is gold; the review of the second is open. Ann annotated both."""
    world.client = sign_in(world.rev)
    world.golden = make.make_author(world.project, kind="gold", name="gold")
    world.anns = [make.make_set(note, world.ann, [ROSSI, CITY], submitted=True) for note in world.notes]
    make.make_set(world.notes[0], world.golden, [ROSSI], submitted=True)
    world.draft = make.make_set(world.notes[1], world.golden, [ROSSI])
    return world


def page_of(world, n: int, query: str = "") -> str:
    return check_page(world.client.get(reverse("note", args=["covid", world.notes[n].pk]) + query))


def test_the_list_says_in_review(reviewed):
    html = check_page(reviewed.client.get(NOTES))
    assert html.count('<span class="tag ok">gold</span>') == 1
    assert html.count('<span class="tag">in review</span>') == 1


def test_the_filters_tell_gold_from_reviews(reviewed):
    first, second = (note.pk for note in reviewed.notes)
    for state, ids in (("gold", [first]), ("in-review", [second]), ("no-gold", [second])):
        page = reviewed.client.get(f"{NOTES}?state={state}")
        check_page(page)
        assert [row.pk for row in page.context["page"].rows] == ids


def test_the_page_of_the_note_calls_it_a_draft(reviewed):
    html = page_of(reviewed, 1, f"?set={reviewed.draft.pk}")
    assert "Draft of a review" in html and "The draft of an open review: 1 span." in html
    assert "Gold since" not in html and "Text with the gold spans" not in html and "Remove gold" not in html
    html = page_of(reviewed, 1)
    assert "This note has no gold yet. A review is open; its draft has 1 span." in html
    assert "Only in gold" not in html
    assert "Gold since" in page_of(reviewed, 0)


def test_gold_can_replace_the_draft(reviewed):
    html = page_of(reviewed, 1)
    assert "Make gold in place of the draft" in html
    own, draft = reviewed.anns[1], reviewed.draft
    url = reverse("note_gold", args=["covid", reviewed.notes[1].pk])
    data = {"set": own.pk, "version": own.version}
    said = check_page(reviewed.client.post(url, data, follow=True))
    assert "A review of this note is open." in said
    reviewed.client.post(url, data | {"replace": "1", "gold_version": draft.version})
    draft.refresh_from_db()
    assert draft.state == AnnotationSet.State.SUBMITTED and draft.spans.count() == 2


def test_an_empty_draft_is_replaced_explicitly_too(reviewed):
    """It is empty because the reviewer rejected everything so far."""
    Span.objects.filter(annotation_set=reviewed.draft).delete()
    assert "0 spans of the draft are removed." in page_of(reviewed, 1)


def test_the_overview_does_not_count_drafts(reviewed):
    assert "Gold 1" in stages(show(reviewed.client))
    assert Author.objects.filter(kind="gold").count() == 1
