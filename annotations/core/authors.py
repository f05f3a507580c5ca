"""Authors of annotation sets."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Final

from django.db.models import QuerySet
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext
from django.utils.translation import gettext as _

from annotations.core.access import Access
from annotations.core.services import ServiceError, good_name
from annotations.models import AnnotationSet, AnnotationSetState, Author, AuthorKind, Membership, Project, User
from annotations.text.attributes import Origin

KINDS_WRITTEN_AS = {"annotator": AuthorKind.ANNOTATOR, "run": AuthorKind.RUN}
GOLD_NAME = "gold"
IMPORTED: Final = " (imported)"
"""Ends the user name of an inactive account that stands for a person of an archive. Nobody can choose such a name,
because user names have no spaces. So whatever names the author of imported work says that it is imported."""

ARCHIVE: Final = "archive"
"""The format of the import that a project's archive is."""


def gold_author(project: Project) -> Author:
    author, _ = Author.objects.get_or_create(project=project, kind=AuthorKind.GOLD, name=GOLD_NAME)
    return author


def parse_written_as(spec: str) -> tuple[str, str]:
    """Parse `gold`, `annotator:NAME` or `run:NAME` into (kind, name). Raises ServiceError (`as`)."""
    if spec == "gold":
        return AuthorKind.GOLD, GOLD_NAME
    kind, _, name = spec.partition(":")
    if kind not in KINDS_WRITTEN_AS or not name.strip():
        message = gettext("The author must be gold, annotator:NAME or run:NAME, not “%(spec)s”.")
        raise ServiceError(message % {"spec": spec}, code="as")
    return KINDS_WRITTEN_AS[kind], good_name(name, code="as")


def author_for_import(project: Project, spec: str) -> Author:
    """Return the author of imported annotation sets, created if needed.

    An annotator who is not a member becomes an author without an account. An account of that name that joins the
    project later becomes the owner of these annotation sets.
    """
    kind, name = parse_written_as(spec)
    author, _ = Author.objects.get_or_create(project=project, kind=kind, name=name)
    if kind == AuthorKind.ANNOTATOR and author.user_id is None:
        member = Membership.objects.select_related("user").filter(project=project, user__username=name).first()
        if member is not None:
            author.user = member.user
            author.save(update_fields=["user"])
    return author


def origin_of(author: Author) -> Origin:
    """Return what the provenance of gold spans that were copied from this author names.

    A merged list repeats the suggestions of its runs, so gold of these runs counts as copied from the list, too.
    """
    authors = [author, *Author.objects.filter(pk__in=author.merged_from or ())]
    return Origin(
        frozenset(f"{one.kind}:{one.name}" for one in authors),
        frozenset(one.name for one in authors if one.kind in Author.MODELS),
    )


# The names of a note's annotators as others see them: real names, or Annotator 1, 2, … of this note.


def annotator_names(documents: Iterable[int], *, hidden: bool) -> dict[int, dict[str, str]]:
    """Return for each note its annotators' names by author id, in the order of their numbers.

    With `hidden`, each note has its own shuffled order, which never changes and which only the server's secret key
    reveals. Annotators who reopen the note keep their number.
    """
    sets = AnnotationSet.objects.filter(document_id__in=documents, author__kind=AuthorKind.ANNOTATOR)
    rows: dict[int, list[tuple[str, str, str]]] = defaultdict(list)
    for document, author, name in sets.exclude(state=AnnotationSetState.WITHDRAWN).values_list(
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
    authors = Author.objects.filter(project=access.project, kind=AuthorKind.ANNOTATOR, user__isnull=False)
    names = {user: numbered.get(str(pk), _("An annotator")) for pk, user in authors.values_list("pk", "user_id")}
    names.pop(access.user.pk, None)
    return lambda user: names.get(user.pk) or user.get_username()


# The gold annotation sets of a project.


SUBMITTED = AnnotationSetState.SUBMITTED


def gold_author_id(project: Project | int) -> int:
    """The id of the author of gold; 0 before there is one."""
    return Author.objects.filter(project=project, kind=AuthorKind.GOLD).values_list("pk", flat=True).first() or 0


def gold_sets(project: Project) -> QuerySet[AnnotationSet]:
    """Return the gold annotation set of every note. It filters by author id, with which the index begins."""
    return AnnotationSet.objects.filter(author_id=gold_author_id(project), state=SUBMITTED)


def notes_in_review(project: Project | int, documents: Iterable[int]) -> set[int]:
    """Return the ids of those of these notes whose gold spans are only in the draft of an open review."""
    return set(review_drafts(project).filter(document__in=list(documents)).values_list("document_id", flat=True))


def review_drafts(project: Project | int) -> QuerySet[AnnotationSet]:
    """Return the drafts of open reviews. They become gold when the reviews are finished."""
    return AnnotationSet.objects.filter(author_id=gold_author_id(project), state=AnnotationSetState.DRAFT)
