"""The order "most to learn": most information first, and one note in five drawn at random from the whole run."""

import random

import pytest
from django.urls import reverse

from annotations.core.suggestions import bits, expected_bits
from annotations.models import Document, Review, Role, SuggestedNote
from annotations.review.rules.precision import by_notes
from annotations.review.selectors.precision import drawn_of
from annotations.review.selectors.reviewing import NoteOrder
from annotations.review.services.finishing import finish_review
from annotations.review.services.log import Act
from annotations.review.services.queue import ONE_IN, next_offered
from tests.factories import list_for_review, make_author, make_member, make_note, make_project, make_set
from tests.held import made_once
from tests.worlds.checks import check_page
from tests.worlds.reviewing import review, send, suggestions

CHANCE, INFORMATION = Review.Drawn.CHANCE, Review.Drawn.INFORMATION


class World:
    def __init__(self, notes=20):
        self.project = make_project("ward")
        self.rita = make_member(self.project, Role.REVIEWER, "rita")
        self.run = make_author(self.project, kind="run", name="crf-1")
        self.notes = [make_note(self.project, f"Visto {name(n)}, con Rossi.") for n in range(notes)]
        for n, note in enumerate(self.notes):
            annotation_set = make_set(note, self.run, [(6, 11, "PATIENT"), (17, 22, "DOCTOR")], submitted=True)
            # Confidence increases from note to note.
            annotation_set.spans.filter(start=6).update(confidence=0.5 + n / 2 / notes)
            annotation_set.spans.filter(start=17).update(confidence=1.0)
        list_for_review(self.run)

    def next(self, after=0):
        return next_offered(author=self.run, project=self.project, after=after)

    def finish(self, pk, order="informative"):
        note = next(note for note in self.notes if note.pk == pk)
        rest = {span.pk for span in suggestions(note, self.run)}
        finish_review(document=note, author=self.run, user=self.rita, rest=rest, queue=NoteOrder(order))

    def drawn(self, how):
        return list(Review.objects.filter(drawn=how).order_by("pk").values_list("document_id", flat=True))

    def by_chance(self):
        return list(SuggestedNote.objects.order_by("random_order").values_list("document_id", flat=True))


def name(n):
    return "".join(random.Random(n).choices("abcdefgh", k=5)).capitalize()


made, world = made_once(World)


def test_one_in_five_is_drawn_from_the_start_of_the_random_order(world):
    """Every note is offered until none is left."""
    seen = []
    for number in range(len(world.notes)):
        pk = world.next()
        assert world.next() == pk
        seen.append(pk)
        world.finish(pk)
        if number == 9:
            order, drawn = world.by_chance(), world.drawn(CHANCE)
            assert sorted(drawn) == sorted(order[: len(drawn)]), "the start of the order, without gaps"
            assert len(drawn) >= 10 / ONE_IN
            chosen = [note.pk for note in world.notes if note.pk not in drawn]
            assert world.drawn(INFORMATION) == chosen[: len(world.drawn(INFORMATION))], "the least certain first"
    assert sorted(seen) == sorted(note.pk for note in world.notes) and world.next() is None


def test_a_drawn_note_stays_due_until_it_is_reviewed(world):
    drawn = world.next()
    assert [drawn] == world.by_chance()[:1] and not Review.objects.exists(), "looking writes nothing"
    other = world.next(after=drawn)
    assert other != drawn
    world.finish(other)
    assert world.next(after=other) == drawn
    assert world.next() == drawn
    world.finish(drawn)
    assert (world.drawn(CHANCE), world.drawn(INFORMATION)) == ([drawn], [other])


def test_a_note_reviewed_before_its_turn_counts_as_drawn(world):
    world.finish(world.next())
    first, second = world.by_chance()[1:3]
    for pk in (first, second):
        world.finish(pk, order="note")
    others = [note.pk for note in world.notes if note.pk not in world.by_chance()[:3]][:9]
    for pk in others:
        world.finish(pk)
    assert {first, second} <= set(world.drawn(CHANCE))


def test_a_decided_string_has_less_information(world):
    world.finish(world.next())  # the drawn one
    best = next(note for note in world.notes if note.pk not in world.drawn(CHANCE))
    twin = make_note(world.project, best.text)
    make_set(twin, world.run, [(6, 11, "PATIENT")], submitted=True).spans.update(confidence=0.5)
    list_for_review(world.run)
    world.notes.append(twin)
    first = world.next()
    assert first in (best.pk, twin.pk)
    world.finish(first)
    assert world.next() not in (best.pk, twin.pk), "their only uncertain string is decided"


def test_the_page_keeps_the_order_and_acceptance_shows_the_sample(world, client):
    client.force_login(world.rita)
    address = reverse("review_next", args=["ward", world.run.pk]) + "?order=informative"
    for number in range(8):
        answer = client.get(address)
        pk = int(answer.url.split("?")[0].strip("/").split("/")[-1])
        assert answer.url.endswith("?chosen=informative&order=informative")
        spans = suggestions(Document.objects.get(pk=pk), world.run)
        for span in spans[: number % 2]:
            review(Document.objects.get(pk=pk), world.run, world.rita, Act.REJECT, span)
        where = reverse("review_finish", args=["ward", world.run.pk, pk]) + answer.url[answer.url.index("?") :]
        rest = [span.pk for span in spans[number % 2 :]]
        finished = send(client, where, {"person": world.rita.pk, "rest": rest}).json
        assert finished["next"].endswith(f"?after={pk}&order=informative"), "the next note comes by the same order"
    (drawn,) = drawn_of([world.run])
    assert drawn.notes == len(world.drawn(CHANCE)) - Review.objects.filter(drawn=CHANCE, finished_at=None).count()
    assert drawn.right.counted == 2 * drawn.notes and drawn.found.share == 1
    assert "Random sample" in check_page(client.get(reverse("acceptance", args=["ward"])))


def test_bits_and_estimates():
    assert (bits(0.5), bits(None), bits(1.0), bits(0.0)) == (1, 1, 0, 0)
    assert bits(0.9) == pytest.approx(0.469, abs=1e-3)
    uncertain = [((1, 1), 0.5), ((1, 1), 0.9), ((2, 1), None)]
    assert expected_bits(uncertain) == 2, "a string counts once in a note"
    assert expected_bits(uncertain, {(1, 1): 1}) == 1.5
    even, clustered = by_notes([(9, 10)] * 20), by_notes([(10, 10)] * 18 + [(0, 10)] * 2)
    assert even.share == clustered.share == 0.9
    assert clustered.high - clustered.low > even.high - even.low, "clustered errors give a wider interval"
    assert by_notes([(5, 5)]).low < 1 and by_notes([(5, 5)]).few and by_notes([]).share is None
