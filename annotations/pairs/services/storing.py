"""Store what the alignment of pairs finds, as annotation sets of an author."""

from collections.abc import Mapping, Sequence

from django.utils import timezone

from annotations.core.bulk import SpanRow, insert_returning, insert_spans
from annotations.core.hooks import suggestions_stored
from annotations.core.suggestions import add_notes, add_strings, tally_of
from annotations.models import AnnotationSet, AnnotationSetState, Author, PublishedDecision, Span
from annotations.pairs.rules.alignment import AlignedPair, align
from annotations.text.hashes import string_key
from annotations.text.spans import MOST_SPANS

# The columns of a published decision that its alignment fills.
COLUMNS = ["author", "aligned", "outside", "begin", "inside"]


def align_decision(published: PublishedDecision) -> AlignedPair:
    """Align a published decision with its clear note, by its own method and parameters."""
    assert published.document is not None
    return align(published.document.text, published.text, published.method, published.parameters["window"])


def store_pairs(
    *, author: Author, label: int, pairs: Mapping[int, AlignedPair], rows: Sequence[PublishedDecision]
) -> None:
    """Store the annotation sets and figures of pairs, by id of the published decision, in the caller's transaction.

    The caller holds the label lock. A note that already has a set of the author keeps it. An alignment
    that went wrong, with more spans than a set may have, is not stored as a set; its low share of aligned tokens shows
    the failure.
    """
    documents = [row.document_id for row in rows]
    stored = set(AnnotationSet.objects.filter(author=author, document__in=documents).values_list("document", flat=True))
    new = [row for row in rows if row.document_id not in stored and len(pairs[row.pk].spans) <= MOST_SPANS]
    made = insert_returning(
        AnnotationSet,
        ("document_id",),
        [(row.document_id,) for row in new],
        author_id=author.pk,
        state=AnnotationSetState.SUBMITTED,
        submitted_at=timezone.now(),
        blind=False,
    )
    insert_spans(
        SpanRow(
            pk, span.start, span.end, label, span.confidence, row.method,
            string_key=string_key(row.document.text[span.start : span.end]) if row.document else None,
        )
        for pk, row in zip(made, new, strict=True)
        for span in pairs[row.pk].spans
    )  # fmt: skip
    if made:
        add_strings(tally_of(Span.objects.filter(annotation_set__in=made)))
        suggestions_stored(author=author, notes=[row.document_id for row in new])
        add_notes(author.pk, dict(zip(made, [row.document_id or 0 for row in new], strict=True)))
    for row in rows:
        pair = pairs[row.pk]
        row.author, row.aligned = author, pair.aligned
        row.outside, row.begin, row.inside = pair.outside, pair.begin, pair.inside
    PublishedDecision.objects.bulk_update(rows, COLUMNS)
