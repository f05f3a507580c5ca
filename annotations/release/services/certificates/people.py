"""Who read notes of a release, by name, and how many."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from django.db.models import Count, QuerySet

from annotations import models
from annotations.agreement.events import ADJUDICATION_FINISHED
from annotations.annotate.events import SET_SUBMITTED
from annotations.core.authors import IMPORTED, gold_author
from annotations.core.bulk import in_batches
from annotations.core.services import ARCHIVE_WRITTEN, FILE_DOWNLOADED, NOTE_READ, ServiceError
from annotations.exchange.events import NOTES_EXPORTED
from annotations.gold.events import GOLD_MADE, GOLD_WITHDRAWN
from annotations.gold.selectors import hashed
from annotations.gold.services.splitting import SetChoice, wanted_set
from annotations.release.events import AUDIT_READ
from annotations.release.rules.certificates.content import ADJUDICATED, ANNOTATED, AUDITED, REVIEWED, Reader
from annotations.release.services.settling import released_notes
from annotations.release.services.sources import specs_of
from annotations.review.events import REVIEW_FINISHED

READ = "saw text of the original notes"
IN_FILES = " (according to an imported file)"
DOWNLOADED = "downloaded files that can hold the original notes"
_GONE = 0  # instead of the id of a set that no longer exists
_OF_GOLD = (GOLD_MADE, REVIEW_FINISHED)
_FINISHING = (*_OF_GOLD, ADJUDICATION_FINISHED, SET_SUBMITTED)
# Stored files without text of notes, and tables without it.
_WITHOUT_TEXT = frozenset({models.StoredFileKind.MODEL, models.StoredFileKind.RELEASE, "agreement", "comments"})


def name_of(user: models.User | None) -> str:
    """The full name of a person, else the name of the account; for None, who works on the command line."""
    return (user.get_full_name() or user.get_username()) if user else "The operator of the command line"


def readers_of(release: models.Release, auditors: Mapping[int, int]) -> list[Reader]:
    """People who annotated, adjudicated, reviewed, saw or audited notes of the release, with counts of notes.

    A file that somebody downloaded from the project can hold all of them.
    `auditors`: the notes that each read in the audit, by user id.
    """
    notes = models.ReleasedNote.objects.filter(release=release).order_by().values("document_id")
    sets = models.AnnotationSet.objects.filter(
        document_id__in=notes, author__kind=models.AuthorKind.ANNOTATOR, state=models.AnnotationSetState.SUBMITTED
    )
    own, files = sets.filter(imported_by=None), sets.exclude(imported_by=None)
    # A file can name annotators who have no account here.
    unknown = files.filter(author__user=None).order_by().values_list("author__name").annotate(notes=Count("pk"))
    return [
        *_named(ANNOTATED, _people(own, "author__user")),
        *_named(ANNOTATED + IN_FILES, _people(files, "author__user")),
        *(Reader(name=name, what=ANNOTATED + IN_FILES, notes=notes) for name, notes in unknown),
        *_named(ADJUDICATED, _people(models.Adjudication.objects.filter(document_id__in=notes), "finished_by")),
        *_named(REVIEWED, _people(models.Review.objects.filter(document_id__in=notes), "finished_by")),
        *_named(READ, _people(_read(release, notes), "actor")),
        *_named(DOWNLOADED, dict.fromkeys(_downloaders(release), release.notes_left)),
        *_named(AUDITED, auditors),
    ]


def _read(release: models.Release, notes: Any) -> "QuerySet[models.Event]":
    """The events of shown or downloaded originals. Who reads in an audit sees the released text."""
    verbs = [NOTE_READ, FILE_DOWNLOADED]
    events = models.Event.objects.filter(project_id=release.project_id, verb__in=verbs, document_id__in=notes)
    return events.exclude(pk__in=events.filter(data__what=AUDIT_READ).values("pk"))


def _downloaders(release: models.Release) -> set[int]:
    """Who exported notes of the project, or downloaded a file or table with text of notes."""
    verbs = [FILE_DOWNLOADED, NOTES_EXPORTED, ARCHIVE_WRITTEN]
    events = models.Event.objects.filter(project_id=release.project_id, verb__in=verbs, document_id=None).exclude(
        actor=None
    )
    rows = events.order_by().values_list("actor_id", "data")
    return {actor for actor, data in rows if not _WITHOUT_TEXT & {*data, data.get("kind")}}


def _people(rows: "QuerySet[Any]", person: str) -> dict[int, int]:
    """Count distinct notes by user id."""
    counted = rows.filter(**{f"{person}__isnull": False}).order_by().values_list(person)
    return dict(counted.annotate(notes=Count("document_id", distinct=True)))


def _named(what: str, counts: Mapping[int, int]) -> list[Reader]:
    users = models.User.objects.in_bulk(counts)
    rows = sorted((-number, name_of(users[pk])) for pk, number in counts.items() if pk in users)
    return [
        Reader(
            name=name,
            what=what + IN_FILES if name.endswith(IMPORTED) and not what.endswith(IN_FILES) else what,
            notes=-number,
        )
        for number, name in rows
    ]


def unfinished_notes(release: models.Release) -> tuple[int, int]:
    """The numbers of released notes whose annotations come from a file, or a model, and that nobody finished here."""
    sets = models.AnnotationSet.objects.filter(author__project=release.project_id).order_by()
    imported = set(sets.exclude(imported_by=None).values_list("pk", flat=True))
    made = set(sets.filter(author__kind__in=models.Author.MODELS).values_list("pk", flat=True)) - imported
    withdrawn = models.Event.objects.filter(project_id=release.project_id, verb=GOLD_WITHDRAWN).exists()
    if not imported and not made and not withdrawn:
        return 0, 0
    rows: list[tuple[int | None, int]] = []
    for spec in specs_of(release.set_spec):
        with suppress(ServiceError):  # what no longer exists has no annotations
            rows += _sources(release, wanted_set(release.project, spec))
    of_file, of_model = ({document for pk, document in rows if pk in some} for some in (imported | {_GONE}, made))
    return len(of_file), len(of_model)


def _sources(release: models.Release, choice: SetChoice) -> Iterator[tuple[int | None, int]]:
    """The set of which the annotations of each released note were made, None where a person finished it; the note.

    What people finish after gold was frozen counts for the frozen version where the spans of the note are the same.
    """
    author = choice.author or gold_author(release.project)
    if author.kind in models.Author.MODELS:
        return
    notes = released_notes(release).values("document")
    sets = models.AnnotationSet.objects.filter(
        author=author, state=models.AnnotationSetState.SUBMITTED, document__in=notes
    ).order_by()
    events = models.Event.objects.filter(project_id=release.project_id, verb__in=_FINISHING).order_by("pk")
    finished = _finished(events)
    if choice.version is None:
        yield from ((finished.get(pk, pk), document) for pk, document in sets.values_list("pk", "document_id"))
        return
    # The gold of that time can have been withdrawn since, and gold of the note made again.
    at = choice.version.created_at
    then = _finished(events.filter(verb__in=_OF_GOLD, at__lte=at), by="document_id")
    there = dict(sets.filter(created_at__lte=at).values_list("document_id", "pk"))
    now = {document: pk for pk, document in sets.values_list("pk", "document_id") if finished.get(pk, pk) is None}
    frozen = models.GoldVersionNote.objects.filter(version=choice.version, document__in=notes)
    for rows in in_batches(frozen.values_list("document_id"), 500, by="document_id"):
        # Gold without an event was imported.
        before = {document: then.get(document, there.get(document, _GONE)) for (document,) in rows}
        same = _unchanged(
            choice.version,
            {document: now[document] for document, pk in before.items() if pk is not None and document in now},
        )
        yield from ((None if document in same else pk, document) for document, pk in before.items())


def _finished(events: "QuerySet[models.Event]", by: str = "annotation_set_id") -> dict[int | None, int | None]:
    """The set of which gold was made, None where a person finished it, by set or by note: what the last event says."""
    rows = events.values_list(by, "verb", "data")
    return {pk: data.get("from_set") if verb == GOLD_MADE else None for pk, verb, data in rows}


def _unchanged(version: models.GoldVersion, golds: Mapping[int, int]) -> set[int]:
    """Of some notes, with the ids of their gold, those whose gold has the spans that it had when it was frozen."""
    frozen = models.GoldVersionNote.objects.filter(version=version, document__in=golds).order_by()
    spans: dict[int, list[tuple[Any, ...]]] = {document: [] for document in golds}
    columns = ("annotation_set__document_id", "start", "end", "label__code", "provenance", "attributes")
    rows = models.Span.objects.filter(annotation_set__in=golds.values()).order_by()
    for document, *span in rows.values_list(*columns):
        spans[document].append(hashed(span if span[-1] else span[:-1]))
    return {
        document
        for document, then in frozen.values_list("document_id", "spans")
        if sorted(map(hashed, then)) == sorted(spans[document])
    }


def allowed_by(release: models.Release) -> list[str]:
    """The names of the people who allowed findings of the leak gate."""
    allowed = models.LeakFinding.objects.filter(note__release=release, decision=models.LeakFinding.Answer.ALLOW)
    allowed = allowed.exclude(origin=models.LeakFinding.Origin.AUDIT)
    people = allowed.order_by().values_list("decided_by", flat=True).distinct()
    return sorted({name_of(user) for user in models.User.objects.filter(pk__in=list(people))})
