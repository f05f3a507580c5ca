"""Searches in a project's notes and in their names. The search text is stored only for its page, for a day."""

from dataclasses import asdict

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.core.access import Access
from annotations.core.errors import ServiceError
from annotations.domain.finding import Sought, finder
from annotations.domain.wording import WordingError, worded
from annotations.models import Project, Search
from annotations.notes.events import NOTES_SEARCHED, NotesSearched
from annotations.notes.selectors.searching import KEPT, Options, Results

LONGEST = 200
# Searches by name that are stored for one user in one project.
NAMES = 20


def begin_search(*, access: Access, text: str, options: Options) -> Search:
    """Store a search for the page of its results. Raises ServiceError with the code `text`."""
    try:
        cleaned = worded(text, LONGEST, what="text to look for")
        finder(Sought(cleaned))
    except WordingError as error:
        raise ServiceError(str(error), code="text") from None
    except ValueError:
        raise ServiceError(
            _("The search text has no letters or digits. Enter a text to search for."), code="text"
        ) from None
    with transaction.atomic():
        purge_searches()
        return Search.objects.create(project=access.project, user=access.user, text=cleaned, options=asdict(options))


def begin_name_search(*, access: Access, name: str) -> Search:
    """Store a search by name for the list of notes, and keep only the latest NAMES of them."""
    with transaction.atomic():
        purge_searches()
        own = Search.objects.filter(project=access.project, user=access.user, kind=Search.Kind.NAME)
        own.filter(pk__in=list(own.values_list("pk", flat=True)[NAMES - 1 :])).delete()
        return Search.objects.create(project=access.project, user=access.user, kind=Search.Kind.NAME, text=name)


def record_search(*, access: Access, search: Search, found: Results, after: int) -> None:
    """Record that a page of results was opened: counts and options, without the search text."""
    data = _event_data(Options.of(search.options)) | {"after": after, "looked": found.looked, "hits": found.hits}
    NOTES_SEARCHED.record(
        actor=access.user,
        project_id=access.project.pk,
        data=data | {"notes": [n.pk for n in found.notes]},
    )


def _event_data(options: Options) -> NotesSearched:
    """Event data: the options of the search."""
    data: NotesSearched = {"where": options.where, "reading": options.annotation_set}
    if options.case:
        data["case"] = True
    if options.accents:
        data["accents"] = True
    if options.word:
        data["word"] = True
    if options.label is not None:
        data["label"] = options.label
    return data


def purge_searches() -> int:
    """Delete searches that are older than KEPT. Return their number."""
    return Search.objects.filter(created_at__lte=timezone.now() - KEPT).delete()[0]


def forget_searches(*, project: Project, **_erased: object) -> int:
    """Delete all searches of a project, since any of them may hold a name that is being erased. Return their number."""
    return Search.objects.filter(project=project).delete()[0]
