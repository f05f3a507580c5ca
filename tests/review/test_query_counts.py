"""Deciding on ten times as many suggestions takes the same number of queries."""

from itertools import pairwise

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotations.models import BulkAct, Decision, Project, Span
from annotations.review.selectors.bulk_rules import BulkRule
from annotations.review.services.bulk import decide_batch, undo_batch
from annotations.review.services.log import Act
from tests.factories import make_author, make_member, make_note, make_project, make_set
from tests.worlds.reviewing import review

pytestmark = pytest.mark.django_db
# With more than ten spans close together, the limit on spans over one character needs another query.
FEW, MANY = 12, 40
FEW_NOTES, MANY_NOTES = 5, 20
WIDTH = 9


class World:
    """A run that suggests every word of its notes; with `merged`, a merged list with two suggestions for each word."""

    def __init__(self, *, merged=False, slug="covid", **project):
        self.project = make_project(slug)
        Project.objects.filter(pk=self.project.pk).update(**project)
        self.project.refresh_from_db()
        self.rita, self.rosa = (make_member(self.project, "reviewer", f"{name}-{slug}") for name in ("rita", "rosa"))
        self.run = make_author(self.project, kind="run", name="run-1")
        self.merged = merged

    def note(self, words):
        note = make_note(self.project, " ".join(f"nome{n:04}" for n in range(words)))
        bounds = [(at * WIDTH, at * WIDTH + WIDTH - 1, "PATIENT") for at in range(words)]
        conflicting = [(start, end, "CITY") for start, end, _ in bounds] if self.merged else []
        annotation_set = make_set(note, self.run, bounds + conflicting, submitted=True)
        if self.merged:
            self.suggest(annotation_set, lambda code: {"agree": 1 + (code == "PATIENT"), "of": 3, "clear": 1})
        return note

    def suggest(self, annotation_set, how):
        """Write which runs suggested each span of a merged list."""
        for span in annotation_set.spans.select_related("label"):
            runs = [{"run": span.label.code, "confidence": None, "source": ""}]
            Span.objects.filter(pk=span.pk).update(provenance={"runs": runs} | how(span.label.code))

    def pairs(self, *notes):
        spans = Span.objects.filter(annotation_set__document__in=notes, annotation_set__author=self.run)
        return list(spans.order_by("annotation_set__document", "pk").values_list("annotation_set__document", "pk"))

    def bulk(self, act="accept"):
        rule = BulkRule("threshold", [self.run.pk], least=0.0)
        return BulkAct.objects.create(project=self.project, user=self.rita, act=act, rule=rule.data())


def counted(work, *given, **options):
    """Return the number of queries, and what the work returns."""
    # Callers repeat the smallest case, because the first call also runs queries whose results are cached.
    with CaptureQueriesContext(connection) as taken:
        result = work(*given, **options)
    # On SQLite rows are inserted in portions (core.bulk), so successive inserts into one table count as one query.
    asked = ["", *(query["sql"].partition(" VALUES ")[0] for query in taken)]
    return sum(not sql.startswith("INSERT") or sql != before for before, sql in pairwise(asked)), result


@pytest.mark.parametrize("merged", [False, True])
@pytest.mark.parametrize("act", ["accept", "reject"])
def test_a_batch_of_a_bulk_act_and_its_undo(act, merged):
    world = World(merged=merged)
    counts = []
    for notes in (FEW_NOTES, FEW_NOTES, MANY_NOTES):
        pairs, bulk = world.pairs(*(world.note(4) for _ in range(notes))), world.bulk(act)
        forth, done = counted(decide_batch, bulk, pairs)
        assert done["decided"] + done["beside"] == len(pairs)
        back, _ = counted(undo_batch, bulk, pairs)
        assert not Decision.objects.filter(cause=bulk).exists()
        counts.append((forth, back))
    assert counts[1] == counts[2]


def test_accepting_a_suggestion_with_many_conflicting_ones_and_its_undo():
    world = World()
    counts = []
    for conflicting in (FEW, FEW, MANY):
        note = make_note(world.project, "nome " * 200)
        bounds = [(0, 999, "PATIENT"), *((at * 5, at * 5 + 4, "CITY") for at in range(conflicting))]
        annotation_set = make_set(note, world.run, bounds, submitted=True)
        world.suggest(annotation_set, lambda code: {"agree": 1, "of": 2, "clear": 0})
        whole = annotation_set.spans.get(end=999)
        count = []
        for about in ((Act.ACCEPT, whole), (Act.UNDO,), (Act.REDO,)):
            count.append(counted(review, note, world.run, world.rita, *about)[0])
            decided = Decision.objects.filter(review__document=note).count()
            assert decided == (0 if about == (Act.UNDO,) else conflicting + 1)
        counts.append(count)
    assert counts[1] == counts[2]
