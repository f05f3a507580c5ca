"""How a review's note was chosen: handed on by the page that names the next note, kept from the first finish on."""

import pytest
from django.urls import reverse

from annotations.models import Document, Review, Span
from annotations.review.selectors.precision import chosen_by_order
from annotations.review.services.finishing import reopen_review
from annotations.review.services.log import Act
from tests import factories as make
from tests.held import made_once
from tests.worlds.checks import check_page
from tests.worlds.programs import Program
from tests.worlds.reviewing import review, suggested_world


def make_ward():
    """Three notes with suggestions of a run, and a reviewer who is signed in."""
    world = suggested_world(3, crf_1=[(0, 11, "PATIENT"), (44, 50, "HOSPITAL")])
    world.spans.update(confidence=0.9)
    make.list_for_review(world.run)
    world.label = world.labels["HOSPITAL"]
    return world


made, ward = made_once(make_ward)


def decide(world, note, user=None):
    for span in Span.objects.filter(annotation_set__document=note, annotation_set__author=world.run, decision=None):
        review(note, world.run, user or world.rev, Act.ACCEPT, span)


def named(world, query):
    """The address of the next note, and the note."""
    url = world.client.get(reverse("review_next", args=["covid", world.run.pk]) + query).url
    return url, Document.objects.get(pk=int(url.split("?")[0].strip("/").split("/")[-1]))


def finish(world, note, query="", user=None):
    """Finish with the query string that the page has then. Returns where the reviewer is sent."""
    decide(world, note, user)
    there = reverse("review_finish", args=["covid", world.run.pk, note.pk])
    return world.client.post(f"{there}{query}", {"stage": "first"}).url


def drawn(note):
    return Review.objects.get(document=note).drawn


@pytest.mark.parametrize("order", ["uncertainty", "false", "label"])
def test_a_note_that_an_order_chose_is_stored_so_without_its_filters(ward, order):
    url, note = named(ward, f"?order={order}&most=95")
    assert url.endswith(f"?chosen={order}&order={order}&most=95")
    html = check_page(ward.client.get(f"{url.split('?')[0]}?chosen={order}"))
    assert f'/finish?chosen={order}"' in html, "the form sends it, too"
    assert html.count("chosen=") == 1, "no other link has it"
    there = reverse("review_finish", args=["covid", ward.run.pk, note.pk])
    refused = ward.client.post(f"{there}?chosen={order}&order={order}&most=95", {"stage": "first"})
    assert refused.url == url, "suggestions are still open"
    assert finish(ward, note, f"?chosen={order}").endswith(f"/{ward.run.pk}/?after={note.pk}"), "it is not carried on"
    assert drawn(note) == "order"


def test_a_note_that_the_filter_by_label_chose_is_stored_so(ward):
    assert named(ward, "?most=50&chosen=label")[0].endswith(f"/{ward.notes[0].pk}/?most=50")
    assert named(ward, "?order=note")[0].endswith("/?order=note")
    url, note = named(ward, f"?label={ward.label}")
    assert url.endswith(f"?chosen=label&label={ward.label}")
    finish(ward, note, "?chosen=label")
    assert drawn(note) == "order"


def test_clients_of_the_api_give_the_order_and_the_label_of_their_request(ward):
    program, path = Program(ward.rev), f"/projects/covid/reviews/{ward.run.pk}"
    for note, body in zip(ward.notes, ({"label": "HOSPITAL"}, {"order": "false"}, {}), strict=True):
        decide(ward, note)
        assert program.post(f"{path}/notes/{note.pk}/finish", body).json()["finished"]
    assert [drawn(note) for note in ward.notes] == ["order", "order", ""]
    refused = program.post(f"{path}/notes/{ward.notes[0].pk}/finish", {"label": "NONE"})
    assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "label")


@pytest.mark.parametrize("order", ["uncertainty", "informative"])
def test_a_reopened_review_keeps_how_its_note_was_chosen_first(ward, order):
    first, second, _third = ward.notes
    finish(ward, first)
    reopen_review(document=first, author=ward.run, user=ward.rev)
    assert chosen_by_order([ward.run.pk]) == []
    finish(ward, second, "?chosen=false")
    reopen_review(document=second, author=ward.run, user=ward.rev)
    finish(ward, second)
    assert drawn(second) == "order"
    Review.objects.filter(document=second).update(drawn="")
    finish(ward, first, f"?chosen={order}")
    assert drawn(first) in ("note", "chance"), "chance if it is the first of the random order"
    assert chosen_by_order([ward.run.pk]) == []
