"""A row for each note that a run has read: how much its review is to tell, and its place in an order by chance.

Written with the run, so that the next note is found without going through all of its proposals.
"""

import random
from collections import defaultdict
from collections.abc import Iterable

from django.db.models import Exists, OuterRef

from annotations.domain.information import String, expected_bits
from annotations.models import AnnotationSet, Author, ProposedNote, Span

BATCH = 500
_CHANCE = random.SystemRandom()
Read = tuple[int, Iterable[tuple[String, float | None]]]
"""A note's id, and its proposals with their confidences."""


def add_notes(author: int, read: Iterable[Read]) -> None:
    """Inside the caller's transaction."""
    rows = (
        ProposedNote(
            author_id=author, document_id=document, information=expected_bits(proposals), place=_CHANCE.random()
        )
        for document, proposals in read
    )
    ProposedNote.objects.bulk_create(rows, batch_size=BATCH, ignore_conflicts=True)


def complete(author: Author) -> None:
    """Rows for what came otherwise: runs from before there were any, and those that were imported."""
    there = ProposedNote.objects.filter(author=author, document=OuterRef("document"))
    sets = AnnotationSet.objects.filter(~Exists(there), author=author, state=AnnotationSet.State.SUBMITTED)
    lacking = list(sets.order_by().values_list("pk", "document_id"))
    for at in range(0, len(lacking), BATCH):
        batch = dict(lacking[at : at + BATCH])
        found: dict[int, list[tuple[String, float | None]]] = defaultdict(list)
        spans = Span.objects.filter(annotation_set__in=batch).order_by()
        for pk, key, label, confidence in spans.values_list("annotation_set", "string_key", "label", "confidence"):
            found[pk].append(((key or 0, label), confidence))
        add_notes(author.pk, ((document, found[pk]) for pk, document in batch.items()))
