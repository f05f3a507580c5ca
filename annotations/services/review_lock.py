"""The rows that whoever changes a note's review holds."""

from annotations.models import AnnotationSet, Author, Document, Review
from annotations.services.authors import gold_author


def locked(document: Document, author: Author) -> tuple[Review, AnnotationSet]:
    """The review and the gold set of a note, made on first use; the gold set's row stays locked."""
    while True:
        rows = AnnotationSet.objects.select_for_update(of=("self",))
        gold = rows.filter(document=document, author__kind=Author.Kind.GOLD).first()
        if gold is not None:
            # Read under the lock: somebody may just have closed it.
            return Review.objects.get_or_create(document=document, author=author)[0], gold
        # Made by whoever is first; the other then waits for the row above.
        AnnotationSet.objects.get_or_create(
            document=document, author=gold_author(document.project), defaults={"blind": False}
        )
