"""Gold from the page of a note: make, replace and remove it."""

from django.urls import reverse

from annotations.gold.events import GOLD_MADE, GOLD_WITHDRAWN
from annotations.models import AnnotationSet, Author, Event
from tests import factories as make
from tests.notes.note_pages import ROSSI, gold_of, page_of
from tests.worlds.checks import WORDS_OF_THE_NOTE, check_page


def gold_form(annotation_set: AnnotationSet, **more: object) -> dict[str, object]:
    return {"set": annotation_set.pk, "version": annotation_set.version, **more}


def gold_url(pk: int, slug: str = "covid") -> str:
    return reverse("note_gold", args=[slug, pk])


def test_a_reviewer_makes_annotations_gold(annotated, sign_in):
    client = sign_in(annotated.rev)
    response = client.post(gold_url(annotated.note.pk), gold_form(annotated.anns))
    gold = AnnotationSet.objects.get(document=annotated.note, author__kind=Author.Kind.GOLD)
    assert response.url == page_of(annotated.note.pk, f"?set={gold.pk}")
    assert gold.spans.count() == 2
    assert "are now gold" in check_page(client.get(response.url))


def test_a_double_click_makes_gold_once(annotated, sign_in):
    client = sign_in(annotated.rev)
    for _ in range(2):
        assert client.post(gold_url(annotated.note.pk), gold_form(annotated.anns)).status_code == 302
    assert Event.objects.filter(verb=GOLD_MADE).count() == 1


def test_gold_and_on_to_the_next(annotated, sign_in):
    response = sign_in(annotated.rev).post(
        gold_url(annotated.note.pk), gold_form(annotated.anns, then="next", state="no-gold")
    )
    assert response.url == page_of(annotated.notes[1].pk, "?state=no-gold")


def test_a_draft_can_not_become_gold(annotated, sign_in):
    client = sign_in(annotated.rev)
    response = client.post(gold_url(annotated.note.pk), gold_form(annotated.bens), follow=True)
    assert "still a draft" in check_page(response)
    assert not AnnotationSet.objects.filter(author__kind=Author.Kind.GOLD).exists()


def test_existing_gold_is_replaced_only_on_explicit_request(annotated, sign_in):
    gold = gold_of(annotated.note, [ROSSI])
    client = sign_in(annotated.rev)
    response = client.post(gold_url(annotated.note.pk), gold_form(annotated.anns), follow=True)
    assert "Replace the gold explicitly" in check_page(response)
    assert gold.spans.count() == 1
    client.post(gold_url(annotated.note.pk), gold_form(annotated.anns, replace=1, gold_version=gold.version))
    assert gold.spans.count() == 2


def test_stale_pages_change_nothing(annotated, sign_in):
    gold = gold_of(annotated.note, [ROSSI])
    client = sign_in(annotated.rev)
    stale = [
        gold_form(annotated.anns, version=annotated.anns.version + 1),
        gold_form(annotated.anns, replace=1, gold_version=gold.version + 1),
        {"set": annotated.anns.pk},
    ]
    for form in stale:
        assert "Nothing was done" in client.post(gold_url(annotated.note.pk), form, follow=True).content.decode()
    withdraw = reverse("note_gold_withdraw", args=["covid", annotated.note.pk])
    client.post(withdraw, {"gold_version": gold.version + 1})
    assert list(gold.spans.values_list("start", "end")) == [ROSSI[:2]]


def test_gold_is_removed_once(annotated, sign_in):
    gold = gold_of(annotated.note, [ROSSI])
    client = sign_in(annotated.rev)
    withdraw = reverse("note_gold_withdraw", args=["covid", annotated.note.pk])
    assert "was removed" in client.post(withdraw, {"gold_version": gold.version}, follow=True).content.decode()
    assert "has no gold" in client.post(withdraw, {"gold_version": gold.version}, follow=True).content.decode()
    assert Event.objects.filter(verb=GOLD_WITHDRAWN).count() == 1


def test_gold_of_wrong_notes_and_methods(annotated, sign_in):
    client = sign_in(annotated.rev)
    foreign = make.make_set(make.make_note(annotated.other), make.make_author(annotated.other), submitted=True)
    assert client.post(gold_url(annotated.notes[1].pk), gold_form(annotated.anns)).status_code == 404
    assert client.post(gold_url(foreign.document_id), gold_form(foreign)).status_code == 404
    assert client.post(gold_url(annotated.note.pk), gold_form(foreign)).status_code == 404


def test_no_event_holds_text(annotated, sign_in):
    client = sign_in(annotated.rev)
    client.get(page_of(annotated.note.pk))
    client.post(gold_url(annotated.note.pk), gold_form(annotated.anns))
    stored = str(list(Event.objects.values_list("data", flat=True)))
    assert not any(word in stored for word in WORDS_OF_THE_NOTE)
