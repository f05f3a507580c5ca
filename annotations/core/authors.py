"""Authors of annotation sets."""

from typing import Final

from django.utils.translation import gettext

from annotations.core.errors import ServiceError
from annotations.core.names import good_name
from annotations.models import Author, Membership, Project, User
from annotations.text.provenance import Origin

KINDS_WRITTEN_AS = {"annotator": Author.Kind.ANNOTATOR, "run": Author.Kind.RUN}
GOLD_NAME = "gold"
IMPORTED: Final = " (imported)"
"""Ends the user name of an inactive account that stands for a person of an archive. Nobody can choose such a name,
because user names have no spaces. So whatever names the author of imported work says that it is imported."""

ARCHIVE: Final = "archive"
"""The format of the import that a project's archive is."""


def gold_author(project: Project) -> Author:
    author, _ = Author.objects.get_or_create(project=project, kind=Author.Kind.GOLD, name=GOLD_NAME)
    return author


def author_of(project: Project, user: User) -> Author:
    """Return the author row of a person: created on first use, or adopted from an import under their user name."""
    author, _ = Author.objects.get_or_create(
        project=project, kind=Author.Kind.ANNOTATOR, name=user.username, defaults={"user": user}
    )
    if author.user_id is None:
        Author.objects.filter(pk=author.pk, user__isnull=True).update(user=user)
        author.user = user
    return author


def parse_written_as(spec: str) -> tuple[str, str]:
    """Parse `gold`, `annotator:NAME` or `run:NAME` into (kind, name). Raises ServiceError (`as`)."""
    if spec == "gold":
        return Author.Kind.GOLD, GOLD_NAME
    kind, _, name = spec.partition(":")
    if kind not in KINDS_WRITTEN_AS or not name.strip():
        raise ServiceError(
            gettext("The author must be gold, annotator:NAME or run:NAME, not “%(spec)s”.") % {"spec": spec}, code="as"
        )
    return KINDS_WRITTEN_AS[kind], good_name(name, code="as")


def author_for_import(project: Project, spec: str) -> Author:
    """Return the author of imported annotation sets, created if needed.

    An annotator who is not a member becomes an author without an account. An account of that name that joins the
    project later becomes the owner of these annotation sets.
    """
    kind, name = parse_written_as(spec)
    author, _ = Author.objects.get_or_create(project=project, kind=kind, name=name)
    if kind == Author.Kind.ANNOTATOR and author.user_id is None:
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
