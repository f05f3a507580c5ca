"""Searches of a project's notes, and of their names: what was sought is kept for a day, for its page, nowhere else."""

from dataclasses import asdict

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.core.access import Access
from annotations.core.errors import ServiceError
from annotations.core.events import record
from annotations.domain.finding import Sought, finder
from annotations.domain.wording import WordingError, worded
from annotations.models import Project, Search, Verb
from annotations.notes.selectors.searching import KEPT, Options, Results

LONGEST = 200
# Searches by name that are kept for one person in one project.
NAMES = 20


def begin_search(*, access: Access, text: str, options: Options) -> Search:
    """Keep what is sought, for the page that shows the results. Raises ServiceError (`text`)."""
    try:
        words = worded(text, LONGEST, what="text to look for")
        finder(Sought(words))
    except WordingError as error:
        raise ServiceError(str(error), code="text") from None
    except ValueError:
        raise ServiceError(_("there is nothing to look for"), code="text") from None
    with transaction.atomic():
        purge_searches()
        return Search.objects.create(project=access.project, user=access.user, text=words, options=asdict(options))


def begin_name_search(*, access: Access, name: str) -> Search:
    """Keep a part of notes' names that is sought, for the list that it narrows down; of older ones the last NAMES."""
    with transaction.atomic():
        purge_searches()
        own = Search.objects.filter(project=access.project, user=access.user, kind=Search.Kind.NAME)
        own.filter(pk__in=list(own.values_list("pk", flat=True)[NAMES - 1 :])).delete()
        return Search.objects.create(project=access.project, user=access.user, kind=Search.Kind.NAME, text=name)


def record_search(*, access: Access, search: Search, found: Results, after: int) -> None:
    """A page of results was looked at: an event with counts and options, without what was sought."""
    options = {key: value for key, value in search.options.items() if value not in (None, False)}
    record(
        verb=Verb.NOTES_SEARCHED,
        actor=access.user,
        project_id=access.project.pk,
        data={
            "after": after,
            "looked": found.looked,
            "notes": [n.pk for n in found.notes],
            "hits": found.hits,
            **options,
        },
    )


def purge_searches() -> int:
    """Forget searches that are older than a day. Returns how many."""
    return Search.objects.filter(created_at__lte=timezone.now() - KEPT).delete()[0]


def forget_searches(*, project: Project) -> int:
    """Forget all of a project's: any of them may hold a name that is being erased."""
    return Search.objects.filter(project=project).delete()[0]
