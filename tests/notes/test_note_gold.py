"""Gold from the page of a note: make, replace and remove it. The draft of an open review is not gold."""

import pytest
from django.conf import settings
from django.urls import reverse

from annotations.gold.events import GOLD_MADE, GOLD_WITHDRAWN
from annotations.models import AnnotationSet, AnnotationSetState, AuthorKind, Event, Span
from tests import factories as make
from tests.notes.note_pages import ROSSI, gold_of, page_of
from tests.projects.overview_pages import show, stages
from tests.worlds.checks import WORDS_OF_THE_NOTE, check_page


def gold_form(annotation_set: AnnotationSet, **more: object) -> dict[str, object]:
    return {"set": annotation_set.pk, "version": annotation_set.version, **more}


def gold_url(pk: int, slug: str = "covid") -> str:
    return reverse("note_gold", args=[slug, pk])


def test_stale_pages_change_nothing(annotated, rev):
    gold = gold_of(annotated.note, [ROSSI])
    stale = [
        gold_form(annotated.anns, version=annotated.anns.version + 1),
        gold_form(annotated.anns, replace=1, gold_version=gold.version + 1),
        {"set": annotated.anns.pk},
    ]
    for form in stale:
        assert "Nothing was done" in rev.post(gold_url(annotated.note.pk), form, follow=True).content.decode()
    withdraw = reverse("note_gold_withdraw", args=["covid", annotated.note.pk])
    rev.post(withdraw, {"gold_version": gold.version + 1})
    assert list(gold.spans.values_list("start", "end")) == [ROSSI[:2]]


def test_gold_is_removed_once(annotated, rev):
    gold = gold_of(annotated.note, [ROSSI])
    withdraw = reverse("note_gold_withdraw", args=["covid", annotated.note.pk])
    assert "was removed" in rev.post(withdraw, {"gold_version": gold.version}, follow=True).content.decode()
    assert "has no gold" in rev.post(withdraw, {"gold_version": gold.version}, follow=True).content.decode()
    assert Event.objects.filter(verb=GOLD_WITHDRAWN).count() == 1


def test_a_reviewer_makes_annotations_gold_and_goes_on_to_the_next(annotated, rev):
    rev.post(gold_url(annotated.note.pk), gold_form(annotated.bens))
    assert not AnnotationSet.objects.filter(author__kind=AuthorKind.GOLD).exists(), "it is a draft"
    rev.get(page_of(annotated.note.pk))
    response = rev.post(gold_url(annotated.note.pk), gold_form(annotated.anns))
    gold = AnnotationSet.objects.get(document=annotated.note, author__kind=AuthorKind.GOLD)
    assert response.url == page_of(annotated.note.pk, f"?set={gold.pk}") and gold.spans.count() == 2
    # The message is stored on the server until it is shown, and without the name of the note.
    assert set(response.cookies) <= {settings.SESSION_COOKIE_NAME, settings.CSRF_COOKIE_NAME}
    assert "are now gold" in str(rev.session["_messages"])
    assert annotated.note.name not in str(dict(rev.session))
    assert "are now gold" in check_page(rev.get(response.url)) and "_messages" not in rev.session
    assert "are now gold" not in rev.get(response.url).text
    response = rev.post(gold_url(annotated.note.pk), gold_form(annotated.anns, then="next", state="no-gold"))
    assert response.url == page_of(annotated.notes[1].pk, "?state=no-gold")
    assert Event.objects.filter(verb=GOLD_MADE).count() == 1
    stored = str(list(Event.objects.values_list("data", flat=True)))
    assert not any(word in stored for word in WORDS_OF_THE_NOTE)


CITY = (44, 50, "CITY")
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


def page_in(world, n: int, query: str = "") -> str:
    return check_page(world.client.get(reverse("note", args=["covid", world.notes[n].pk]) + query))


def test_the_filters_tell_gold_from_reviews(reviewed):
    html = check_page(reviewed.client.get(NOTES))
    assert html.count('<span class="tag ok">gold</span>') == html.count('<span class="tag">in review</span>') == 1
    first, second = (note.pk for note in reviewed.notes)
    for state, ids in (("gold", [first]), ("in-review", [second]), ("no-gold", [second])):
        page = reviewed.client.get(f"{NOTES}?state={state}")
        check_page(page)
        assert [row.pk for row in page.context["page"].rows] == ids
    assert "Gold 1" in stages(show(reviewed.client)), "the overview doesn't count drafts"


def test_the_page_of_the_note_calls_it_a_draft(reviewed):
    html = page_in(reviewed, 1, f"?set={reviewed.draft.pk}")
    assert "Draft of a review" in html
    assert not any(words in html for words in ("Gold since", "Text with the gold spans", "Remove gold"))
    assert "Only in gold" not in page_in(reviewed, 1)
    assert "Gold since" in page_in(reviewed, 0)


def test_gold_can_replace_the_draft(reviewed):
    own, draft = reviewed.anns[1], reviewed.draft
    url = reverse("note_gold", args=["covid", reviewed.notes[1].pk])
    data = {"set": own.pk, "version": own.version}
    check_page(reviewed.client.post(url, data, follow=True))
    assert make.reread(draft).state == AnnotationSetState.DRAFT
    # It is empty because the reviewer rejected everything so far.
    Span.objects.filter(annotation_set=draft).delete()
    assert "0 spans of the draft are removed." in page_in(reviewed, 1)
    reviewed.client.post(url, data | {"replace": "1", "gold_version": draft.version})
    assert make.reread(draft).state == AnnotationSetState.SUBMITTED and draft.spans.count() == 2
