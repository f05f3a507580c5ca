"""The rows that are locked while suggestions are decided. docs/architecture.md lists all locks in their order."""

from collections.abc import Collection, Iterable

from annotations.core.authors import gold_author
from annotations.models import AnnotationSet, Author, AuthorKind, Document, Project, Review


def locked_golds(project: Project, documents: Collection[int]) -> dict[int, AnnotationSet]:
    """The gold sets by note id, created if missing. The rows stay locked; locks are taken in the order of note ids."""
    if len(documents) > 1:
        # Missing rows are created before any lock, because waiting for a row that another transaction creates would
        # break the order of the locks.
        gold = AnnotationSet.objects.filter(document__in=documents, author__kind=AuthorKind.GOLD)
        there = gold.values_list("document_id", flat=True)
        _make_golds(project, set(documents).difference(there))
    while True:
        rows = AnnotationSet.objects.select_for_update(of=("self",)).filter(author__kind=AuthorKind.GOLD)
        golds = {row.document_id: row for row in rows.filter(document__in=documents).order_by("document_id")}
        if len(golds) == len(documents):
            return golds
        # If another transaction creates the rows first, the next pass of the loop waits for its locks.
        _make_golds(project, set(documents) - golds.keys())


def _make_golds(project: Project, documents: Collection[int]) -> None:
    if documents:
        author = gold_author(project)
        AnnotationSet.objects.bulk_create(
            (AnnotationSet(document_id=pk, author=author, blind=False) for pk in sorted(documents)),
            ignore_conflicts=True,
        )


def reviews_of(pairs: Iterable[tuple[int, int]]) -> dict[tuple[int, int], Review]:
    """The reviews by note id and author id of the run, created if missing.

    Call this while holding the locks, because a review may just have been finished.
    """
    wanted = set(pairs)
    rows = Review.objects.filter(document__in={note for note, _ in wanted}, author__in={run for _, run in wanted})
    found = {(row.document_id, row.author_id): row for row in rows}
    if missing := sorted(wanted - found.keys()):
        Review.objects.bulk_create(
            (Review(document_id=note, author_id=run) for note, run in missing), ignore_conflicts=True
        )
        found = {(row.document_id, row.author_id): row for row in rows.all()}
    # A review row that was created ahead by the draw of planted leaks begins with the first decision.
    begun = [row for pair, row in found.items() if pair in wanted and row.ahead]
    if begun:
        Review.objects.filter(pk__in=[row.pk for row in begun]).update(ahead=None)
        for row in begun:
            row.ahead = None
    return found


def locked(document: Document, author: Author) -> tuple[Review, AnnotationSet]:
    """The review and the gold set of one note; the gold set's row stays locked."""
    rows = AnnotationSet.objects.select_for_update(of=("self",)).filter(author__kind=AuthorKind.GOLD)
    gold = rows.filter(document=document).order_by("id").first()
    gold = gold or locked_golds(document.project, [document.pk])[document.pk]
    return reviews_of([(document.pk, author.pk)])[document.pk, author.pk], gold
