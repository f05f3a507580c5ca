"""What follows when all rows of an archive are stored: links between rows, checks, and lists made of rows."""

from annotations.core.suggested_notes import add_notes
from annotations.core.suggested_strings import add_strings, tally_of
from annotations.formats.files.archives import ArchiveError
from annotations.gold.selectors import hashed
from annotations.models import (
    AnnotationSet,
    Author,
    Comment,
    GoldVersion,
    GoldVersionNote,
    Handover,
    Span,
    SuggestedNote,
)
from annotations.ops.services.archives import tables
from annotations.ops.services.archives.rows import BATCH, Rows, at, some
from annotations.text.hashing import gold_hash


def answer_comments(rows: Rows) -> None:
    name = tables.COMMENTS.name
    for number, (line, row) in enumerate(rows.archive.rows(name), start=1):
        answers = row.get("answers")
        if answers is None:
            continue
        if answers >= number:
            raise ArchiveError("A comment can answer only an earlier one.", file=name, line=line)
        first = at(name, line, rows.keys.comment, answers)
        own = rows.keys.comment(number)
        same = Comment.objects.filter(pk=first, document__in=Comment.objects.filter(pk=own).values("document"))
        if not same.exists():
            raise ArchiveError("A comment can answer only a comment on the same note.", file=name, line=line)
        Comment.objects.filter(pk=own).update(answers=first)


def join_second_reviews(rows: Rows) -> None:
    """Store who took part in the first reviews."""
    own = Handover.objects.filter(review__document__project=rows.project).order_by("pk").values_list("pk", flat=True)
    through = Handover.people.through
    for pk, (_line, row) in zip(list(own), rows.archive.rows(tables.HANDOVERS.name), strict=True):
        people = dict.fromkeys(map(rows.keys.person, row["people"]))
        through.objects.bulk_create([through(handover_id=pk, user_id=user) for user in people])


def check_versions(rows: Rows) -> None:
    """Frozen versions that lost no note must have the content of their hash."""
    for version in GoldVersion.objects.filter(project=rows.project, erased_count=0):
        notes = GoldVersionNote.objects.filter(version=version).order_by()
        frozen = notes.values_list("document__name", "document__sha256", "spans").iterator(chunk_size=BATCH)
        found = gold_hash((name, sha256, map(hashed, spans)) for name, sha256, spans in frozen)
        if found != version.content_hash:
            raise ArchiveError(
                f"The notes and spans of gold version {version.number} don't fit its content hash.",
                file=tables.GOLD_NOTES.name,
            )


def list_for_review(rows: Rows) -> None:
    """Write the counts and lists that review keeps of suggestions."""
    runs = Author.objects.filter(project=rows.project, kind__in=Author.MODELS)
    for author in runs.values_list("pk", flat=True):
        listed = SuggestedNote.objects.filter(author=author).values("document")
        sets = AnnotationSet.objects.filter(author=author).order_by("pk").values_list("pk", "document_id")
        for batch in some(sets.iterator(chunk_size=BATCH)):
            pks = [pk for pk, _note in batch]
            add_strings(tally_of(Span.objects.filter(annotation_set__in=pks)))
            add_notes(author, dict(sets.filter(pk__in=pks, document__in=listed)))
