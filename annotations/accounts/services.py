"""People in a project: adding, changing, removing without losing their work, and letting them back in."""

from typing import Any

from allauth.account.adapter import get_adapter
from allauth.account.forms import default_token_generator
from allauth.account.utils import user_pk_to_url_str
from django.db import transaction
from django.db.models import Count
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext

from annotations.core.access import RIGHTS, Can, may_make_link
from annotations.core.authors import author_of
from annotations.core.errors import ServiceError
from annotations.core.events import record
from annotations.models import AnnotationSet, Assignment, Membership, Project, Role, User, Verb
from annotations.projects.services.assigning import annotators, assign_new_member


def create_user(*, username: str, password: str | None = None, created_in: Project | None = None) -> User:
    """An account; without a password it can only be entered through a one-time link.

    `created_in`: the project that it is made for, whose managers may make such links.
    """
    username = get_adapter().clean_username(username, shallow=True)
    if User.objects.filter(username__iexact=username).exists():
        raise ServiceError(gettext("the user name %(username)s is taken") % {"username": repr(username)}, code="exists")
    return User.objects.create_user(username=username, password=password, created_in=created_in)


def add_member(*, project: Project, user: User, role: str, actor: User | None = None) -> Membership:
    """Add or bring back a member, or change the role of one. Annotators get their notes at once."""
    if role not in Role.values:
        raise ServiceError(
            gettext("unknown role %(role)s; there are: %(choices)s")
            % {"role": repr(role), "choices": ", ".join(Role.values)},
            code="role",
        )
    with transaction.atomic():
        member, created = Membership.objects.select_for_update().get_or_create(
            project=project, user=user, defaults={"role": role}
        )
        before = None if created else (member.role, member.active)
        if before == (role, True):
            return member
        if before is not None and before[1]:
            _keep_a_manager(project, user, role)
        if before is not None and before[1] and not _reads_all(role):
            _give_up_reading(member)
        member.role, member.active, member.removed_at = role, True, None
        member.save(update_fields=["role", "active", "removed_at", "read_others_until"])
        if role == Role.ANNOTATOR:
            author_of(project, user)
            assign_new_member(project=project, user=user)
        elif before is not None:
            _release_open(project, user)
        changed = before is not None and before[1]
        record(
            verb=Verb.MEMBER_CHANGED if changed else Verb.MEMBER_ADDED,
            actor=actor,
            project_id=project.pk,
            data={"user": user.username, "role": role},
        )
    return member


def _reads_all(role: str) -> bool:
    return Can.READ_NOTES in RIGHTS[role]


def _give_up_reading(member: Membership) -> None:
    """Keep until when this person could read everyone's spans: of those notes they can't submit a blind reading."""
    if _reads_all(member.role):
        member.read_others_until = timezone.now()


def _keep_a_manager(project: Project, user: User, new_role: str | None) -> None:
    others = Membership.objects.filter(project=project, role=Role.MANAGER, active=True).exclude(user=user)
    is_manager = Membership.objects.filter(project=project, user=user, role=Role.MANAGER, active=True).exists()
    if is_manager and new_role != Role.MANAGER and not others.exists():
        raise ServiceError(
            gettext("a project keeps at least one manager; make somebody else one first"), code="last-manager"
        )


def _release_open(project: Project, user: User) -> int:
    return Assignment.objects.filter(project=project, user=user, state=Assignment.State.OPEN).update(
        state=Assignment.State.RELEASED
    )


def removal_preview(*, project: Project, user: User) -> dict[str, Any]:
    """What removing this person touches: their open notes, drafts (kept, withdrawn) and submitted readings (kept)."""
    states = dict(
        AnnotationSet.objects.filter(author__project=project, author__user=user)
        .values_list("state")
        .annotate(count=Count("id"))
    )
    return {
        "user": user.username,
        "open_notes": Assignment.objects.filter(project=project, user=user, state=Assignment.State.OPEN).count(),
        "drafts": states.get(AnnotationSet.State.DRAFT, 0),
        "submitted": states.get(AnnotationSet.State.SUBMITTED, 0),
        "may_take_over": [reader.username for reader in annotators(project) if reader.pk != user.pk],
    }


def remove_member(
    *, project: Project, user: User, actor: User | None, hand_over_to: User | None = None
) -> dict[str, Any]:
    """Take somebody out. Submitted readings stay and count; drafts are withdrawn, kept, and come back with the person.

    Open notes go to `hand_over_to` where they lack that reader, else they are released.
    """
    with transaction.atomic():
        member = Membership.objects.select_for_update().filter(project=project, user=user, active=True).first()
        if member is None:
            raise ServiceError(
                gettext("%(username)s is no member of this project") % {"username": user.username}, code="member"
            )
        _keep_a_manager(project, user, None)
        preview = removal_preview(project=project, user=user)
        handed = _hand_over(project, user, hand_over_to) if hand_over_to else 0
        _release_open(project, user)
        AnnotationSet.objects.filter(
            author__project=project, author__user=user, state=AnnotationSet.State.DRAFT
        ).update(state=AnnotationSet.State.WITHDRAWN)
        _give_up_reading(member)
        member.active, member.removed_at = False, timezone.now()
        member.save(update_fields=["active", "removed_at", "read_others_until"])
        record(
            verb=Verb.MEMBER_REMOVED,
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
        raise ServiceError(
            gettext("%(username)s is no annotator of this project") % {"username": heir.username}, code="heir"
        )
    open_notes = Assignment.objects.filter(project=project, user=user, state=Assignment.State.OPEN)
    theirs = Assignment.objects.filter(project=project, user=heir).values("document")
    rows = [
        Assignment(project=project, document_id=note, user=heir)
        for note in open_notes.exclude(document__in=theirs).values_list("document", flat=True)
    ]
    Assignment.objects.bulk_create(rows, batch_size=2000, ignore_conflicts=True)
    return len(rows)


def reset_link_path(*, project: Project, user: User, actor: User | None) -> str:
    """A one-time link (path) by which `user` sets a new password; it expires after PASSWORD_RESET_TIMEOUT.

    `actor` None is whoever has the server's command line, and with it the database: no further rule holds for them.
    """
    if not Membership.objects.filter(project=project, user=user, active=True).exists():
        raise ServiceError(
            gettext("%(username)s is no member of this project") % {"username": user.username}, code="member"
        )
    if actor is not None and not may_make_link(actor, user):
        raise ServiceError(
            gettext(
                "You can't make a password link for %(username)s: the account was not made in a project that you "
                "manage, or it has had rights outside the projects you manage. Ask an administrator for a new password."
            )
            % {"username": user.username},
            code="not-yours",
        )
    record(verb=Verb.RESET_LINK_MADE, actor=actor, project_id=project.pk, data={"user": user.username})
    token = default_token_generator.make_token(user, maker=actor)
    return reverse("account_reset_password_from_key", kwargs={"uidb36": user_pk_to_url_str(user), "key": token})
