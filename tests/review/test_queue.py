"""The next note by an order is the one that a search through every open suggestion gives."""

import random

import pytest

from annotations.models import Label, Review, Role, Span, SuggestedLabel
from annotations.projects.services.labels import merge_labels
from annotations.review.rules.precision import Rate, likely_right
from annotations.review.selectors.precision import rates_of
from annotations.review.selectors.reviewing import NoteOrder
from annotations.review.services import queue as review_queue
from annotations.review.services.finishing import finish_review
from annotations.review.services.log import Act
from annotations.review.services.queue import next_in_queue
from tests.factories import list_for_review, make_author, make_member, make_note, make_project, make_set
from tests.worlds.reviewing import review

TEXT = "Anna Bruno Carlo Diana Elena Fabio."
WORDS = [(0, 4), (5, 10), (11, 16), (17, 22), (23, 28), (29, 34)]
LABELS = ("PATIENT", "DOCTOR", "CITY")
ORDERS = ("uncertainty", "false", "label", "note")


class World:
    """Notes with suggestions of three labels and two sources; every seventh without a confidence."""

    def __init__(self, notes=14, seed=3):
        chance = random.Random(seed)
        self.project = make_project("ward")
        self.rita = make_member(self.project, Role.REVIEWER, "rita")
        self.run = make_author(self.project, kind="run", name="crf-1")
        self.notes = [make_note(self.project, TEXT) for _ in range(notes)]
        for note in self.notes:
            annotation_set = make_set(
                note, self.run, [(*word, chance.choice(LABELS)) for word in WORDS if chance.random() < 0.7],
                submitted=True,
            )  # fmt: skip
            for span in annotation_set.spans.all():
                span.confidence = None if chance.random() < 0.15 else round(chance.random(), 2)
                span.source = chance.choice(("rule", "model"))
                span.save()
        list_for_review(self.run)

    def open(self, label=None):
        spans = Span.objects.filter(annotation_set__author=self.run, decision__isnull=True)
        finished = Review.objects.filter(author=self.run, finished_at__isnull=False).values("document")
        spans = spans.exclude(annotation_set__document__in=finished).select_related("label", "annotation_set")
        return list(spans.filter(label=label) if label else spans)

    def brute(self, order, label=None, after=0):
        rates = rates_of(self.run)

        def sort_key(span):
            confidence = 0.5 if span.confidence is None else span.confidence
            return {
                "uncertainty": (abs(confidence - 0.5),),
                "false": (likely_right(rates.get((span.label_id, span.source), Rate(0, 0)), confidence),),
                "label": (span.label.position, span.label_id),
                "note": (),
            }[order]

        ranked = sorted((sort_key(span), span.annotation_set.document_id) for span in self.open(label))
        return next((note for _, note in ranked if note != after), ranked[0][1] if ranked else None)

    def check(self):
        labels = [None, Label.objects.get(label_set__project=self.project, name="DOCTOR").pk]
        for order in ORDERS:
            for label in labels:
                queue = NoteOrder(order, label)
                if queue.plain or not self.open(label):
                    continue
                first = self.brute(order, label)
                found = [next_in_queue(self.run, self.project, queue, self.rita, after) for after in (0, first)]
                assert found == [first, self.brute(order, label, first)], (order, label)

    def decide(self, span, act):
        note = next(note for note in self.notes if note.pk == span.annotation_set.document_id)
        review(note, self.run, self.rita, act, span)
        return note


@pytest.fixture
def world(db, monkeypatch):
    monkeypatch.setattr(review_queue, "LOOK", 2)
    return World()


@pytest.mark.nightly
def test_orders_stay_right_while_suggestions_are_decided(world):
    world.check()
    for step in range(6):
        # Decide or finish the first notes, so that the stored bounds are no longer reached.
        first = next_in_queue(world.run, world.project, NoteOrder(ORDERS[step % 3]), world.rita)
        spans = [span for span in world.open() if span.annotation_set.document_id == first]
        if step == 3:
            note = next(note for note in world.notes if note.pk == first)
            finish_review(document=note, author=world.run, user=world.rita, rest={span.pk for span in spans})
        else:
            note = [world.decide(span, Act.REJECT if step % 2 else Act.ACCEPT) for span in spans[:3]][-1]
        world.check()
    review(note, world.run, world.rita, Act.UNDO)
    world.check()


def test_merged_labels_and_a_fully_decided_run(world):
    labels = {label.name: label for label in Label.objects.filter(label_set__project=world.project)}
    world.check()
    merge_labels(source=labels["CITY"], target=labels["DOCTOR"], actor=world.rita)
    world.check()
    for span in world.open():
        world.decide(span, Act.REJECT)
    assert SuggestedLabel.objects.exists()
    waiting = next_in_queue(world.run, world.project, NoteOrder("false"), world.rita, world.notes[0].pk)
    assert waiting == world.notes[1].pk, "unfinished notes follow by id"
