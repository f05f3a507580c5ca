"""The rows that whoever changes a note's review holds."""

from annotations.core.authors import gold_author
from annotations.models import AnnotationSet, Author, Document, Review
from annotations.models.prepared import PreparedRead, columns_of, object_of

# Every decision begins with this one.
_GOLD_COLUMNS = columns_of(AnnotationSet, without=["created_at", "updated_at", "submitted_at"])
_GOLD = PreparedRead(
    lambda document, kind: (
        AnnotationSet.objects.select_for_update(of=("self",))
        .filter(document_id=document, author__kind=kind)
        .order_by("id")
        .values_list(*_GOLD_COLUMNS)[:1]
    ),
    int,
    str,
)


def locked(document: Document, author: Author) -> tuple[Review, AnnotationSet]:
    """The review and the gold set of a note, made on first use; the gold set's row stays locked."""
    while True:
        row = _GOLD.first(document.pk, Author.Kind.GOLD.value)
        if row is not None:
            # Read under the lock: somebody may just have closed it.
            review = Review.objects.get_or_create(document=document, author=author)[0]
            return review, object_of(AnnotationSet, _GOLD_COLUMNS, row)
        # Made by whoever is first; the other then waits for the row above.
        AnnotationSet.objects.get_or_create(
            document=document, author=gold_author(document.project), defaults={"blind": False}
        )
