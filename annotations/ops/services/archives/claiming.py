"""A person takes over what an archive brought under their user name. Only they can say that it is theirs."""

from typing import Any

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from annotations.core.authors import IMPORTED
from annotations.core.errors import ServiceError
from annotations.models import AnnotationSet, Assignment, Author, AuthorKind, Handover, Project, User
from annotations.ops.events import WORK_CLAIMED
from annotations.ops.services.archives import tables


def imported_self(project: Project, user: User) -> Author | None:
    """The imported annotator with the person's user name, if the project has one."""
    return Author.objects.filter(
        project=project, kind=AuthorKind.ANNOTATOR, user__username__iexact=user.username + IMPORTED
    ).first()


def claim(*, project: Project, user: User) -> int:
    """Give a person the imported work under their user name. Return the number of annotation sets.

    Raises ServiceError: `none` without such work, `begun` if the person has begun to work in the project.
    """
    try:
        with transaction.atomic():
            Project.objects.select_for_update(no_key=True).get(pk=project.pk)
            author = imported_self(project, user)
            if author is None or author.user is None:
                raise ServiceError(_("No archive brought work under your user name into this project."), code="none")
            moved = _move(project, author, author.user, user)
            WORK_CLAIMED.record(actor=user, project_id=project.pk, data={"sets": moved})
    except IntegrityError:
        raise _begun() from None
    return moved


def _begun() -> ServiceError:
    return ServiceError(
        _("You have already begun to work in this project, so the imported work stays apart from yours."), code="begun"
    )


def _move(project: Project, author: Author, marked: User, user: User) -> int:
    own = Author.objects.filter(project=project, kind=AuthorKind.ANNOTATOR, user=user).first()
    if own is not None:
        if own.annotation_sets.exists():
            raise _begun()
        own.delete()
    # The rule assigns notes to whoever becomes a member. The imported assignments count.
    notes = Assignment.objects.filter(project=project, user=marked).values("document")
    Assignment.objects.filter(
        project=project, user=user, document__in=list(notes.values_list("document", flat=True))
    ).delete()
    Author.objects.filter(pk=author.pk).update(name=user.username)
    AnnotationSet.objects.filter(author=author).update(imported_by=None)
    for model in tables.TABLES:
        rows = tables.rows_of(model, project)
        for field in model._meta.concrete_fields:
            if field.related_model is User:
                change: dict[str, Any] = {field.name: user}
                rows.filter(**{field.name: marked}).order_by().update(**change)
    taken = Handover.people.through.objects.filter(handover__review__document__project=project, user=marked)
    taken.update(user=user)
    return AnnotationSet.objects.filter(author=author).count()
