"""What a note's annotators are called before an adjudicator: by name, or as Annotator 1, 2, … of this note."""

from collections import defaultdict
from collections.abc import Callable, Sequence

from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _

from annotations.core.access import Access
from annotations.models import AnnotationSet, Author, User


def reader_names(documents: Sequence[int], *, hidden: bool) -> dict[int, dict[str, str]]:
    """For each note its annotators (author ids) in the order of their numbers, and what each is called.

    Hidden, the order is shuffled note by note, always in the same way, and nobody without the server's key can tell
    from a number who it is. Who has reopened the note keeps their number.
    """
    sets = AnnotationSet.objects.filter(document_id__in=documents, author__kind=Author.Kind.ANNOTATOR)
    rows: dict[int, list[tuple[str, str, str]]] = defaultdict(list)
    for document, author, name in sets.exclude(state=AnnotationSet.State.WITHDRAWN).values_list(
        "document_id", "author_id", "author__name"
    ):
        order = _shuffled(document, author) if hidden else name.casefold()
        rows[document].append((order, str(author), name))
    return {
        document: {
            author: _("Annotator %(n)d") % {"n": number} if hidden else name
            for number, (_order, author, name) in enumerate(sorted(found), start=1)
        }
        for document, found in rows.items()
    }


def _shuffled(document: int, author: int) -> str:
    return salted_hmac("annotations.selectors.naming", f"{document}:{author}").hexdigest()


def callers(access: Access, document: int) -> Callable[[User], str]:
    """What people are called beside a note: by name, unless this person isn't to know its annotators."""
    if not access.unnamed:
        return lambda user: user.get_username()
    numbered = reader_names([document], hidden=True).get(document, {})
    authors = Author.objects.filter(project=access.project, kind=Author.Kind.ANNOTATOR, user__isnull=False)
    called = {user: numbered.get(str(pk), _("An annotator")) for pk, user in authors.values_list("pk", "user_id")}
    called.pop(access.user.pk, None)
    return lambda user: called.get(user.pk) or user.get_username()
