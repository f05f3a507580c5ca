"""Searches in a project's notes and in their names. The search text is stored only for its page, for a day."""

import time
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import asdict

from django.db import transaction
from django.db.models import BigIntegerField, Exists, OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.core.access import Access, Can
from annotations.core.services import ErasedMeanwhile, ServiceError, change_labels, erasures_of, record_reads, unerased
from annotations.models import Document, Import, ImportState, NoteIndex, Project, Search, SearchKind
from annotations.notes.events import NOTES_SEARCHED, NotesSearched
from annotations.notes.selectors.searching import KEPT, Options, Results, results
from annotations.text.names import WordingError, worded
from annotations.text.search import Sought, finder, signatures

LONGEST = 200
# Searches by name that are stored for one user in one project.
NAMES = 20


def begin_search(*, access: Access, text: str, options: Options) -> Search:
    """Store a search for the page of its results. Raises ServiceError with the code `text`."""
    search = _search(access, text, options)
    with transaction.atomic():
        purge_searches()
        search.save(force_insert=True)
    return search


def search_at_once(*, access: Access, text: str, options: Options, after: int = 0) -> Results:
    """Return the notes with hits after the note `after`, and record the search without storing its text.

    Raises ServiceError `text`, `label` where a label must be chosen, and `annotations` for gold that the person can't
    see.
    """
    if options.where == "label" and options.label is None:
        raise ServiceError(_("Choose the label to search in."), code="label")
    if options.annotation_set == "gold" and not access.can(Can.READ_NOTES):
        raise ServiceError(_("Only people who may read every note can search in gold."), code="annotations")
    search = _search(access, text, options)
    found = results(access, search, after=after)
    record_search(access=access, search=search, found=found, after=after)
    return found


def _search(access: Access, text: str, options: Options) -> Search:
    """Return a search that is not stored yet. Raises ServiceError `text`."""
    try:
        cleaned = worded(text, LONGEST, what=_("text to look for"))
        finder(Sought(cleaned))
    except WordingError as error:
        raise ServiceError(str(error), code="text") from None
    except ValueError:
        message = _("The search text has no letters or digits. Enter a text to search for.")
        raise ServiceError(message, code="text") from None
    return Search(project=access.project, user=access.user, text=cleaned, options=asdict(options))


def begin_name_search(*, access: Access, name: str) -> Search:
    """Store a search by name for the list of notes, and keep only the latest NAMES of them."""
    with transaction.atomic():
        purge_searches()
        own = Search.objects.filter(project=access.project, user=access.user, kind=SearchKind.NAME)
        own.filter(pk__in=list(own.values_list("pk", flat=True)[NAMES - 1 :])).delete()
        return Search.objects.create(project=access.project, user=access.user, kind=SearchKind.NAME, text=name)


def record_search(*, access: Access, search: Search, found: Results, after: int) -> None:
    """Record that a page of results was opened: its notes, counts and options, without the search text."""
    project, notes = access.project.pk, [n.pk for n in found.notes]
    record_reads(actor=access.user, project_id=project, notes=notes, what="search")
    data = _event_data(Options.of(search.options)) | {"after": after, "looked": found.looked, "hits": found.hits}
    NOTES_SEARCHED.record(actor=access.user, project_id=project, data=data | {"notes": notes})


def _event_data(options: Options) -> NotesSearched:
    """Event data: the options of the search."""
    data: NotesSearched = {"where": options.where, "reading": options.annotation_set}
    for name in ("case", "accents", "word"):
        if getattr(options, name):
            data[name] = True
    if options.label is not None:
        data["label"] = options.label
    return data


def purge_searches() -> int:
    """Delete searches that are older than KEPT. Return their number."""
    return Search.objects.filter(created_at__lte=timezone.now() - KEPT).delete()[0]


def forget_searches(*, project: Project, **_erased: object) -> int:
    """Delete all searches of a project, since any of them may hold a name that is being erased. Return their number."""
    return Search.objects.filter(project=project).delete()[0]


# The index over the texts of notes (NoteIndex). The relay fills it, erasures reach it, and searches read it.


# How long one call works (seconds).
SECONDS = 1.0


def index_notes() -> None:
    """Index notes for a moment. The relay calls this function every second."""
    until = time.monotonic() + SECONDS
    for project, last in _waiting():
        indexed: int | None = last
        while indexed is not None and time.monotonic() < until:
            indexed = _index_after(project, indexed)


def _waiting() -> QuerySet[Project, tuple[int, int]]:
    """Projects with enough notes to index and no import under way, and the last note that is indexed there."""
    last = NoteIndex.objects.filter(project=OuterRef("pk")).order_by("-last").values("last")[:1]
    notes = Document.objects.filter(project=OuterRef("pk"), pk__gt=OuterRef("indexed")).order_by("pk")
    projects = Project.objects.annotate(indexed=Coalesce(Subquery(last), Value(0), output_field=BigIntegerField()))
    enough = Exists(notes[NoteIndex.SIZE - 1 : NoteIndex.SIZE])
    projects = projects.filter(enough).exclude(imports__state=ImportState.RUNNING)
    return projects.order_by("pk").values_list("pk", "indexed")


def _index_after(project: int, last: int) -> int | None:
    """Index the next notes of a project. Return the last one, or None if they must wait."""
    erasures = erasures_of(project)
    with transaction.atomic():
        # Transactions that add notes have this lock, so no note with a lower id appears later.
        free = change_labels(project, wait=False)
        notes = Document.objects.filter(project=project, pk__gt=last).order_by("pk").values_list("pk", flat=True)
        ids = list(notes[: NoteIndex.SIZE]) if free else []
    # A canceled import removes its notes again. One may have begun meanwhile.
    importing = Import.objects.filter(project=project, state=ImportState.RUNNING)
    if len(ids) < NoteIndex.SIZE or importing.exists():
        return None
    row = _filled(NoteIndex(project_id=project, last=ids[-1]), ids)
    with suppress(ErasedMeanwhile), transaction.atomic():
        unerased(project, erasures)
        NoteIndex.objects.bulk_create([row], ignore_conflicts=True)
        return row.last
    return None


def _filled(row: NoteIndex, notes: Collection[int]) -> NoteIndex:
    texts = dict(Document.objects.filter(pk__in=notes).order_by("pk").values_list("pk", "text"))
    row.notes = list(texts)
    row.shift, row.bits = signatures(list(texts.values()), NoteIndex.SIZE)
    return row


def forget_notes(*, project: Project, notes: Sequence[int], **_erased: object) -> None:
    """Index again what was indexed together with these notes, without them."""
    erased = set(notes)
    for row in NoteIndex.objects.filter(project=project, last__gte=min(erased, default=0)).defer("bits"):
        if not erased.isdisjoint(row.notes):
            _filled(row, set(row.notes) - erased).save()
