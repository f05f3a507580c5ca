"""Create accounts; add, change, remove and restore members of a project; create password links."""

from typing import Any

from allauth.account.adapter import get_adapter
from allauth.account.forms import default_token_generator
from allauth.account.utils import user_pk_to_url_str
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Count
from django.urls import reverse
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext

from annotations.core.access import RIGHTS, Can, may_make_link
from annotations.core.services import ServiceError
from annotations.models import (
    AnnotationSet,
    AnnotationSetState,
    Assignment,
    AssignmentState,
    Author,
    AuthorKind,
    Membership,
    Project,
    Role,
    User,
)
from annotations.projects import events
from annotations.projects.services.assigning import annotators_of, assign_new_member


def create_user(*, username: str, password: str | None = None, created_in: Project | None = None) -> User:
    """Create an account. Without a password, it can only be used after a one-time link to choose one.

    Managers of the project `created_in` may create such links.
    """
    username = get_adapter().clean_username(username, shallow=True)
    if User.objects.filter(username__iexact=username).exists():
        message = gettext("The user name “%(username)s” is taken. Choose another.")
        raise ServiceError(message % {"username": username}, code="exists")
    return User.objects.create_user(username=username, password=password, created_in=created_in)


def add_person(*, project: Project, username: str, role: str, new: bool, actor: User) -> Membership:
    """Add a person by their exact user name, with a new account or an existing one.

    Raises ServiceError (`exists`, `no-account`, `member` for a member with another role), and ValidationError for a
    name that no account can have.
    """
    if new:
        with transaction.atomic():
            made = create_user(username=username, created_in=project)
            return add_member(project=project, user=made, role=role, actor=actor)
    user = User.objects.filter(username=username, is_active=True).first()
    if user is None:
        message = gettext(
            "No active account has exactly this user name. Check the name with the person, or "
            "choose “New account”. Nothing was changed."
        )
        raise ServiceError(message, code="no-account")
    member = Membership.objects.filter(project=project, user=user, active=True).first()
    if member is not None and member.role != role:
        message = gettext("%(name)s is already a member (%(role)s). Change the role in the table.")
        raise ServiceError(message % {"name": user.username, "role": member.get_role_display().lower()}, code="member")
    return add_member(project=project, user=user, role=role, actor=actor)


def add_people(*, project: Project, lines: str, role: str, new: bool, actor: User) -> list[Membership]:
    """Add the people of pasted lines as `add_person` does: all or none. The error names the line.

    A line is a user name, an e-mail address, or a person's name: Ada Conti becomes the user ada.conti.
    """
    added = []
    with transaction.atomic():
        for number, line in enumerate(lines.splitlines(), 1):
            name = line.strip().strip(",;")
            if not name:
                continue
            try:
                member = add_person(project=project, username=username_of(name), role=role, new=new, actor=actor)
            except (ServiceError, ValidationError) as error:
                reason = error.messages[0] if isinstance(error, ValidationError) else str(error)
                message = gettext("Line %(number)d: %(reason)s Nobody was added.")
                raise ServiceError(message % {"number": number, "reason": reason}, code="username") from None
            if new and " " in name:
                member.user.first_name, _space, member.user.last_name = name.rpartition(" ")
                member.user.save(update_fields=["first_name", "last_name"])
            added.append(member)
    return added


def username_of(name: str) -> str:
    """The user name for a pasted line: the name itself, or of a name in several words, its ASCII letters and dots."""
    if " " not in name:
        return name
    return ".".join(slugify(word) for word in name.split() if slugify(word))


def heirs_of(*, project: Project, user: User) -> list[User]:
    """Return the annotators who can take over the open notes of a member."""
    return [annotator for annotator in annotators_of(project) if annotator.pk != user.pk]


def add_member(
    *, project: Project, user: User, role: str, actor: User | None = None, provided_by: str = ""
) -> Membership:
    """Add or restore a member, or change a member's role. New annotators get their notes assigned.

    `provided_by` is the provider whose group gives the role; empty where a person gives it. A group may leave a project
    without a manager: an administrator adds one with the command `add_member`.
    """
    if role not in Role.values:
        message = gettext("“%(role)s” is not a role. Choose one of: %(choices)s.")
        raise ServiceError(message % {"role": role, "choices": ", ".join(Role.values)}, code="role")
    with transaction.atomic():
        member, created = Membership.objects.select_for_update().get_or_create(
            project=project, user=user, defaults={"role": role}
        )
        before = None if created else (member.role, member.active)
        if before == (role, True):
            return member
        if before is not None and before[1] and not provided_by:
            _keep_a_manager(project, user, role)
        if before is not None and before[1] and not _sees_all(role):
            _end_seeing_all(member)
        member.role, member.active, member.removed_at, member.provided_by = role, True, None, provided_by
        member.save(update_fields=["role", "active", "removed_at", "read_others_until", "provided_by"])
        # What was imported under this user name before is theirs.
        Author.objects.filter(project=project, kind=AuthorKind.ANNOTATOR, name=user.username, user__isnull=True).update(
            user=user
        )
        if role == Role.ANNOTATOR:
            assign_new_member(project=project, user=user)
        elif before is not None:
            _release_open(project, user)
        if provided_by:
            events.MEMBER_BY_GROUP.record(
                project_id=project.pk, data={"user": user.username, "role": role, "provider": provided_by}
            )
            return member
        changed = before is not None and before[1]
        (events.MEMBER_CHANGED if changed else events.MEMBER_ADDED).record(
            actor=actor, project_id=project.pk, data={"user": user.username, "role": role}
        )
    return member


def _sees_all(role: str) -> bool:
    return Can.READ_NOTES in RIGHTS[role]


def _end_seeing_all(member: Membership) -> None:
    """Record until when this person could see everyone's spans. Their annotations of those notes are not blind."""
    if _sees_all(member.role):
        member.read_others_until = timezone.now()


def _keep_a_manager(project: Project, user: User, new_role: str | None) -> None:
    others = Membership.objects.filter(project=project, role=Role.MANAGER, active=True).exclude(user=user)
    is_manager = Membership.objects.filter(project=project, user=user, role=Role.MANAGER, active=True).exists()
    if is_manager and new_role != Role.MANAGER and not others.exists():
        message = gettext("A project needs at least one manager. Make another member a manager first.")
        raise ServiceError(message, code="last-manager")


def _release_open(project: Project, user: User) -> int:
    return Assignment.objects.filter(project=project, user=user, state=AssignmentState.OPEN).update(
        state=AssignmentState.RELEASED
    )


def removal_preview(*, project: Project, user: User) -> dict[str, Any]:
    """Counts of what a removal affects: open notes, drafts (withdrawn but kept), submitted annotation sets (kept)."""
    states = dict(
        AnnotationSet.objects.filter(author__project=project, author__user=user)
        .values_list("state")
        .annotate(count=Count("id"))
    )
    return {
        "user": user.username,
        "open_notes": Assignment.objects.filter(project=project, user=user, state=AssignmentState.OPEN).count(),
        "drafts": states.get(AnnotationSetState.DRAFT, 0),
        "submitted": states.get(AnnotationSetState.SUBMITTED, 0),
        "may_take_over": [annotator.username for annotator in heirs_of(project=project, user=user)],
    }


def remove_member(
    *, project: Project, user: User, actor: User | None, hand_over_to: User | None = None, provided_by: str = ""
) -> dict[str, Any]:
    """Remove a member. Submitted annotation sets stay and count; drafts are withdrawn until the member is restored.

    Open notes are assigned to `hand_over_to`, if given, and released. Returns the preview and `handed_over`.
    `provided_by` is the provider whose group gave the role and gives it no more.
    """
    with transaction.atomic():
        member = Membership.objects.select_for_update().filter(project=project, user=user, active=True).first()
        if member is None:
            message = gettext("%(username)s is not a member of this project.")
            raise ServiceError(message % {"username": user.username}, code="member")
        if not provided_by:
            _keep_a_manager(project, user, None)
        preview = removal_preview(project=project, user=user)
        handed = _hand_over(project, user, hand_over_to) if hand_over_to else 0
        _release_open(project, user)
        AnnotationSet.objects.filter(author__project=project, author__user=user, state=AnnotationSetState.DRAFT).update(
            state=AnnotationSetState.WITHDRAWN
        )
        _end_seeing_all(member)
        member.active, member.removed_at, member.provided_by = False, timezone.now(), provided_by
        member.save(update_fields=["active", "removed_at", "read_others_until", "provided_by"])
        if provided_by:
            events.MEMBER_LEFT_GROUP.record(
                project_id=project.pk, data={"user": user.username, "role": member.role, "provider": provided_by}
            )
            return preview | {"handed_over": 0}
        events.MEMBER_REMOVED.record(
            actor=actor,
            project_id=project.pk,
            data={
                "user": user.username,
                "open_notes": preview["open_notes"],
                "drafts": preview["drafts"],
                "handed_over_to": hand_over_to.username if hand_over_to else None,
                "handed_over": handed,
            },
        )
    return preview | {"handed_over": handed}


def _hand_over(project: Project, user: User, heir: User) -> int:
    if not Membership.objects.filter(project=project, user=heir, role=Role.ANNOTATOR, active=True).exists():
        message = gettext("%(username)s is not an annotator of this project.")
        raise ServiceError(message % {"username": heir.username}, code="heir")
    open_notes = Assignment.objects.filter(project=project, user=user, state=AssignmentState.OPEN)
    theirs = Assignment.objects.filter(project=project, user=heir).values("document")
    rows = [
        Assignment(project=project, document_id=note, user=heir)
        for note in open_notes.exclude(document__in=theirs).values_list("document", flat=True)
    ]
    Assignment.objects.bulk_create(rows, batch_size=2000, ignore_conflicts=True)
    return len(rows)


def reset_link_path(*, project: Project, user: User, actor: User | None) -> str:
    """Path of a one-time link that lets `user` choose a new password. It expires after PASSWORD_RESET_TIMEOUT.

    `actor` is None on the command line. Its user has access to the database anyway, so no further rule applies.
    """
    if not Membership.objects.filter(project=project, user=user, active=True).exists():
        message = gettext("%(username)s is not a member of this project.")
        raise ServiceError(message % {"username": user.username}, code="member")
    if actor is not None and not may_make_link(actor, user):
        message = gettext(
            "You can't create a password link for %(username)s: the account was not created in a "
            "project that you manage, or it has had rights outside your projects. Ask an "
            "administrator for a new password."
        )
        raise ServiceError(message % {"username": user.username}, code="not-yours")
    events.RESET_LINK_MADE.record(actor=actor, project_id=project.pk, data={"user": user.username})
    token = default_token_generator.make_token(user, maker=actor)
    return reverse("account_reset_password_from_key", kwargs={"uidb36": user_pk_to_url_str(user), "key": token})
