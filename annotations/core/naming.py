"""The names of a note's annotators as others see them: real names, or Annotator 1, 2, … of this note."""

from collections import defaultdict
from collections.abc import Callable, Sequence

from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _

from annotations.core.access import Access
from annotations.models import AnnotationSet, Author, User


def annotator_names(documents: Sequence[int], *, hidden: bool) -> dict[int, dict[str, str]]:
    """Return for each note its annotators' names by author id, in the order of their numbers.

    With `hidden`, each note has its own shuffled order, which never changes and which only the server's secret key
    reveals. Annotators who reopen the note keep their number.
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


def user_namer(access: Access, document: int) -> Callable[[User], str]:
    """Return a function that names users beside a note: by number where annotators are hidden from this person."""
    if not access.unnamed:
        return lambda user: user.get_username()
    numbered = annotator_names([document], hidden=True).get(document, {})
    authors = Author.objects.filter(project=access.project, kind=Author.Kind.ANNOTATOR, user__isnull=False)
    names = {user: numbered.get(str(pk), _("An annotator")) for pk, user in authors.values_list("pk", "user_id")}
    names.pop(access.user.pk, None)
    return lambda user: names.get(user.pk) or user.get_username()
