"""Access rules: who may do what. Pages, the API, commands and jobs all use these functions.

Objects are always reached through the person's project. Somebody who is not a member gets 404, so that the project's
existence stays unknown; a member who lacks a right gets 403.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Any, Self, TypeVar

from allauth.mfa.models import Authenticator
from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import Http404
from django.urls import reverse
from django.utils.translation import gettext as _

from annotations import models
from annotations.core import suggestions
from annotations.core.entrance import Entrance
from annotations.core.services import ProjectArchived

Found = TypeVar("Found")


class Can(StrEnum):
    """Rights. `READ_NOTES` covers every note with everyone's spans; others open only the notes assigned to them."""

    SEE_PROJECT = "see the project"
    ANNOTATE = "annotate notes"
    READ_NOTES = "read every note"
    MAKE_GOLD = "make gold"
    EXPORT = "export notes"
    AUDIT_RELEASES = "audit released notes"
    RELEASE = "release de-identified text"
    SEE_AUDIT = "see the audit log"
    MANAGE = "manage the project"
    ARCHIVE = "archive, restore or delete the project"


_REVIEWER = {Can.SEE_PROJECT, Can.READ_NOTES, Can.ANNOTATE, Can.MAKE_GOLD, Can.EXPORT, Can.AUDIT_RELEASES}
RIGHTS: dict[str, frozenset[Can]] = {
    models.Role.VIEWER: frozenset({Can.SEE_PROJECT, Can.READ_NOTES}),
    models.Role.ANNOTATOR: frozenset({Can.SEE_PROJECT, Can.ANNOTATE}),
    models.Role.REVIEWER: frozenset(_REVIEWER),
    models.Role.MANAGER: frozenset(_REVIEWER | {Can.RELEASE, Can.SEE_AUDIT, Can.MANAGE, Can.ARCHIVE}),
}
# The rights that remain of a role while the project is archived: all that change nothing, and restoring it.
WHEN_ARCHIVED = frozenset({Can.SEE_PROJECT, Can.READ_NOTES, Can.EXPORT, Can.SEE_AUDIT, Can.ARCHIVE})


class SecondFactorMissing(PermissionDenied):
    """The project, or the whole instance, needs a second factor, which this session or account has not shown."""

    code = "second-factor"

    def __init__(self) -> None:
        message = _("You can open this only after two-factor sign-in. Set it up under Account, or enter a code.")
        super().__init__(message)


@dataclass(frozen=True)
class Access:
    """A person inside a project."""

    project: models.Project
    membership: models.Membership
    user: models.User
    known: Entrance | None = None
    """The rows that the request began with: its note may be among them."""

    def can(self, right: Can) -> bool:
        """Whether this person has the right now."""
        return right in RIGHTS[self.membership.role] and (right in WHEN_ARCHIVED or self.project.archived_at is None)

    def has(self, right: Can) -> bool:
        """Whether the role includes the right, even if the project is archived: for what a person must never see."""
        return right in RIGHTS[self.membership.role]

    @property
    def slug(self) -> str:
        """The project's short name, for addresses."""
        return self.project.slug

    def url(self, page: str, *args: object) -> str:
        """The address of a page of the project."""
        return reverse(page, args=[self.project.slug, *args])

    @property
    def archived(self) -> bool:
        return self.project.archived_at is not None

    @cached_property
    def rights(self) -> dict[str, bool]:
        """For templates: {{ access.rights.MANAGE }}."""
        return {right.name: self.can(right) for right in Can}

    @property
    def unnamed(self) -> bool:
        """Whether the names of annotators are hidden from this person, who may adjudicate."""
        return self.project.anonymous_adjudication and not self.has(Can.MANAGE)

    @property
    def blind(self) -> bool:
        """Whether this person sees only their own spans."""
        return not self.can(Can.READ_NOTES)

    @property
    def annotates_blind(self) -> bool:
        """Whether this person's annotations are made without others' spans, and without candidates by the rules."""
        return self.blind and not self.project.candidates

    @cached_property
    def computed(self) -> dict[Any, Any]:
        """What several parts of one page show, so that a slow one is computed once for a request."""
        return {}

    def once(self, compute: Callable[[Self], Found]) -> Found:
        """Return what the function finds for this person, computed once for a request."""
        if compute not in self.computed:
            self.computed[compute] = compute(self)
        found: Found = self.computed[compute]
        return found

    @cached_property
    def withheld(self) -> str:
        """The reason why this person gets no complete annotation sets of model runs now, as a sentence; else empty.

        While some suggestions are hidden, reviewers see suggestions only on the review pages. Managers see everything.
        """
        return suggestions.withheld(self.project) if self.has(Can.MAKE_GOLD) and not self.has(Can.MANAGE) else ""

    @cached_property
    def closed_kinds(self) -> frozenset[str]:
        """The kinds of authors whose individual annotation sets this person must not see, score, compare or export."""
        people = [models.AuthorKind.ANNOTATOR] if self.unnamed else []
        return frozenset(map(str, [*people, *(models.Author.MODELS if self.withheld else [])]))


def enter(user: models.User, slug: str, right: Can = Can.SEE_PROJECT, *, only: int | None = None) -> Access:
    """Return the project `slug` for this person. Raises Http404 for non-members, PermissionDenied without the right.

    `only`, where given, is the id of the only project that may be entered: any other one gets Http404, too.

    Raises ProjectArchived, a PermissionDenied with a sentence, where only the archived project lacks the right, and
    SecondFactorMissing where the project is closed until the person has shown a second factor.
    """
    known, user.entrance = user.entrance, None  # A second call in a request reads what has changed since.
    if known is not None and known.membership.project.slug == slug:
        membership = known.membership
    else:
        known = None
        try:
            membership = models.Membership.objects.select_related("project").get(
                project__slug=slug, user_id=user.pk, active=True
            )
        except models.Membership.DoesNotExist:
            raise Http404("This project does not exist.") from None
    if only is not None and membership.project_id != only:
        raise Http404("This is not the only project that may be entered.")
    access = Access(membership.project, membership, user, known)
    if (access.project.second_factor or settings.SECOND_FACTOR) and lacks_second_factor(user, wanted=True):
        raise SecondFactorMissing
    if not access.can(right):
        raise _refusal(access, right)
    return access


def lacks_second_factor(user: models.User, *, wanted: bool = False) -> bool:
    """Whether a project that wants a second factor, or an instance that always does, is closed to this person.

    In a session it must have been shown. Outside sessions, as with the tokens of the API, the account must have one: an
    authenticator app, or a last sign-in at a provider whose second factor counts.
    """
    if not (wanted or settings.SECOND_FACTOR):
        return False
    if user.shown_second_factor is not None:
        return not user.shown_second_factor
    return not (has_app(user) or models.ProviderAccount.objects.filter(user_id=user.pk, second_factor=True).exists())


def has_app(user: models.User) -> bool:
    """Whether the account has an authenticator app, so that a code is enough to go on."""
    found: bool = Authenticator.objects.filter(user_id=user.pk, type=Authenticator.Type.TOTP).exists()
    return found


def require(access: Access, right: Can) -> None:
    if not access.can(right):
        raise _refusal(access, right)


def _refusal(access: Access, right: Can) -> PermissionDenied:
    if access.has(right):
        return ProjectArchived()
    return PermissionDenied(f"The role “{access.membership.role}” does not include the right to {right}.")


def notes_for(access: Access) -> QuerySet[models.Document]:
    """Return the notes that this person may open: all, or those assigned to them (finished ones included)."""
    if access.can(Can.READ_NOTES):
        return models.Document.objects.filter(project_id=access.project.pk)
    # In one call: each further one costs every request that opens a note.
    return models.Document.objects.filter(
        project_id=access.project.pk,
        assignments__user_id=access.user.pk,
        assignments__state__in=[models.AssignmentState.OPEN, models.AssignmentState.DONE],
    )


def authors_for(access: Access) -> QuerySet[models.Author]:
    """Return the authors whose individual annotation sets this person may list, score, compare or export."""
    return models.Author.objects.filter(project=access.project).exclude(kind__in=access.closed_kinds)


def sets_for(access: Access) -> QuerySet[models.AnnotationSet]:
    """Return the annotation sets of `authors_for`, for somebody who may read every note."""
    sets = models.AnnotationSet.objects.filter(document__project=access.project)
    return sets.exclude(author__kind__in=access.closed_kinds)


def closed_to(access: Access, *, spec: str = "", authors: Collection[int] = ()) -> bool:
    """Whether this person must not get the sets named by a spec (such as `run:rules-1`) or written by an author."""
    named = models.Author.objects.filter(pk__in=authors, kind__in=access.closed_kinds)
    return spec.partition(":")[0] in access.closed_kinds or (bool(authors) and named.exists())


def note_for(access: Access, pk: int, *, with_source: bool = False) -> models.Document:
    """Return a note, with the source of its text in the same query if wanted.

    Raises Http404 where this person may not open it, as for a note that does not exist.
    """
    known = access.known
    if known is not None and known.note is not None and known.note.pk == pk:
        note, known.note = known.note, None  # as in `enter`
        if not (known.assigned or access.can(Can.READ_NOTES)):
            raise Http404("This note does not exist.")
    else:
        notes = notes_for(access)
        try:
            note = (notes.select_related("source") if with_source else notes).get(pk=pk)
        except models.Document.DoesNotExist:
            raise Http404("This note does not exist.") from None
    note.project = access.project
    return note


def may_create_projects(user: models.User) -> bool:
    """Whether the user is an administrator or already manages a project."""
    return user.is_staff or user.memberships.filter(role=models.Role.MANAGER, active=True).exists()


def may_make_link(maker: models.User, user: models.User) -> bool:
    """Whether `maker` may make a link for `user` to choose a new password. Checked again when the link is used."""
    return user.pk in may_make_links(maker, [user])


def may_make_links(maker: models.User, users: Collection[models.User]) -> set[int]:
    """Return the ids of the `users` for whom `maker` may make a link to choose a new password.

    Whoever holds the link can sign in as that user. Therefore a manager may make one only for an account that was
    created in one of their own projects or never had a password, that is not an administrator's, and that was never
    a member of a project that they don't manage.
    """
    if not maker.is_active:
        return set()
    if maker.is_superuser:
        return {user.pk for user in users}
    managed = set(
        models.Membership.objects.filter(user=maker, role=models.Role.MANAGER, active=True).values_list(
            "project_id", flat=True
        )
    )
    # Former memberships count too: a removed member may be added again.
    elsewhere = set(
        models.Membership.objects.filter(user__in=users).exclude(project__in=managed).values_list("user_id", flat=True)
    )
    return {
        user.pk
        for user in users
        if not (user.is_superuser or user.is_staff)
        and user.pk not in elsewhere
        and (user.created_in_id in managed or (user.last_login is None and not user.has_usable_password()))
    }
