"""Whose readings this person may not have for themselves: single annotators', or the proposals of model runs."""

from django.core.exceptions import PermissionDenied
from django.db.models import Exists, OuterRef
from django.utils.translation import gettext_lazy

from annotations.core.access import Access, Can
from annotations.models import AnnotationSet, Author, Project, Review

RUNS_BARRED = gettext_lazy(
    "This project measures what reading misses. Until the review of every note is closed, only a manager can "
    "read, export, score or compare all proposals of a run."
)


def barred_kinds(access: Access) -> list[str]:
    """The kinds of authors whose readings are not listed, scored, compared or exported one by one for this person."""
    kinds: list[str] = [Author.Kind.ANNOTATOR] if access.unnamed else []
    return kinds + list(Author.MODELS) if runs_barred(access) else kinds


def is_barred(access: Access, author: int) -> bool:
    """The same of one author, by id."""
    return Author.objects.filter(pk=author, kind__in=barred_kinds(access)).exists()


def barred_spec(access: Access, spec: str) -> bool:
    """The same of a spec such as `run:rules-1` (gold.services.sets.wanted_set)."""
    return spec.partition(":")[0] in barred_kinds(access)


def runs_barred(access: Access) -> bool:
    """Whether the proposals of runs are on the pages of review only, since planted leaks are missing there.

    All of a run's proposals beside what the page of a note shows would tell what is hidden. It depends on which notes
    are closed and never on what was drawn, so that it tells nothing itself. Managers see everything.
    """
    return access.can(Can.MAKE_GOLD) and not access.can(Can.MANAGE) and _may_hide(access.project)


def _may_hide(project: Project) -> bool:
    """Whether a note under review has, or may still get, planted leaks."""
    reviews = Review.objects.filter(document__project=project)
    if reviews.filter(planted_share__gt=0, closed_at__isnull=True).exists():
        return True
    if not project.planted_share:
        return False
    closed = reviews.filter(document=OuterRef("document"), author=OuterRef("author"), closed_at__isnull=False)
    authors = list(Author.objects.filter(project=project, kind__in=Author.MODELS).values_list("pk", flat=True))
    read = AnnotationSet.objects.filter(author__in=authors, state=AnnotationSet.State.SUBMITTED)
    return read.filter(~Exists(closed)).exists()


def not_barred(access: Access, author: int) -> None:
    """Raises PermissionDenied for readings that this person may not have for themselves."""
    if is_barred(access, author):
        raise PermissionDenied("these readings are not for this person")
