"""Counts that are read from comparisons equal those of the annotation sets after any acts."""

import random

import pytest

from annotations.agreement.services.comparing import bring_up_to_date
from annotations.annotate.selectors.worklist import submitted_notes, submitted_sets
from annotations.gold.selectors.state import gold_state
from annotations.models import AnnotationSet, Author, AuthorKind, Comparison
from tests import factories as make
from tests.worlds.adjudicated import NAME, SURNAME, TEXT, made_adjudication, world

__all__ = ["made_adjudication", "world"]  # the fixture
pytestmark = [pytest.mark.django_db, pytest.mark.both_databases]
STATES = ("draft", "submitted", "submitted", "withdrawn")


def some_act(world, chance):
    """Change one annotation set of one note: an annotator's, the adjudicator's or gold."""
    note = chance.choice(world.notes)
    author = chance.choice(world.authors)
    old = AnnotationSet.objects.filter(document=note, author=author).first()
    if old is None:
        spans = chance.choice([[], [(*NAME, "PATIENT")], [(*SURNAME, "PATIENT")]])
        make.make_set(note, author, spans, submitted=chance.random() < 0.7)
    elif chance.random() < 0.2:
        old.delete()
    else:
        AnnotationSet.objects.filter(pk=old.pk).update(state=chance.choice(STATES))


def plain(world, author):
    """The numbers of the author's submitted sets by what happens to them; disputed ones only as they are compared."""
    sets = AnnotationSet.objects.filter(author=author, state="submitted")
    gold = AnnotationSet.objects.filter(author__project=world.project, author__kind="gold")
    finished = AnnotationSet.objects.filter(author__kind=AuthorKind.ADJUDICATED, state="submitted")
    free = sets.exclude(document__in=gold.filter(state__in=["submitted", "draft"]).values("document"))
    differing = Comparison.objects.filter(disputed__gt=0).exclude(document__in=finished.values("document"))
    in_review = sets.filter(document__in=gold.filter(state="draft").values("document")).count()
    disputed = free.filter(document__in=differing.values("document")).count()
    return (sets.count(), free.count(), in_review, disputed)


def shown(world):
    sources = gold_state(world.project, None).sources
    return {each.author: (each.submitted, each.free, each.in_review, each.disputed) for each in sources}


def test_counts_equal_the_plain_ones(world):
    chance = random.Random(1)
    kinds = [("gold", "gold"), ("adjudicated", "adjudicated")]
    world.notes = [make.make_note(world.project, TEXT, f"more-{number}") for number in range(6)]
    people = [make.make_author(world.project, person) for person in (world.anna, world.bruno, world.carla)]
    world.authors = people * 2 + [make.make_author(world.project, kind=kind, name=name) for kind, name in kinds]
    other = make.make_set(make.make_note(make.make_project("other"), TEXT), world.anna, submitted=True)
    assert submitted_notes(other.document.project) == 1
    for _round in range(25):
        for _act in range(chance.randrange(1, 8)):
            some_act(world, chance)
        counted = submitted_sets(world.project).values("document_id").distinct().count()
        assert submitted_notes(world.project) == counted, "whether the notes are compared or not"
        authors = Author.objects.filter(project=world.project).exclude(kind="gold")
        expected = {author.pk: row for author in authors if (row := plain(world, author))[0]}
        assert {pk: row[:3] for pk, row in shown(world).items()} == {pk: row[:3] for pk, row in expected.items()}
        bring_up_to_date(world.project)
        assert submitted_notes(world.project) == counted
        expected = {author.pk: row for author in authors if (row := plain(world, author))[0]}
        assert shown(world) == expected
