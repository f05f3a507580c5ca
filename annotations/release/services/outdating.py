"""Releases whose surrogates were edited after they were prepared, and preparing them again."""

import uuid

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.jobs.services.queue import key_of
from annotations.models import Project, Release, ReleasedNote, ReleasedNoteState, ReleaseState, User
from annotations.release.events import RELEASE_PREPARED_AGAIN
from annotations.release.rules.redaction.policy import Action
from annotations.release.selectors.surrogates import edited_since
from annotations.release.services.policies import read_policy
from annotations.release.services.starting import KIND, enqueue_job


def outdated(release: Release) -> bool:
    """Whether somebody has edited the project's surrogates since a prepared, unsigned release began to use them."""
    if release.state != ReleaseState.PREPARED or not edited_since(release.project, release.begun_at):
        return False
    return any(rule.action == Action.SURROGATE for rule in read_policy(release.policy.rules).rules.values())


def prepare_again(*, release: Release, actor: User | None) -> Release:
    """Prepare all notes of an outdated release again, with the surrogates as they are now.

    Decisions about findings stay where the place is found again (`writing.store_prepared`). A release that is being
    prepared, or is not outdated, stays as it is, so that a repeated request does no harm. Raises ServiceError `state`
    for a signed or withdrawn release.
    """
    with transaction.atomic():
        Project.objects.select_for_update(no_key=True).get(pk=release.project_id)
        rows = Release.objects.select_for_update(of=("self",)).select_related("project", "policy", "job")
        locked = rows.get(pk=release.pk)
        if locked.state not in (ReleaseState.PREPARING, ReleaseState.PREPARED):
            raise ServiceError(
                _("Only a release that is not signed can be prepared again. This one is: %(state)s. Make a new one.")
                % {"state": locked.get_state_display()},
                code="state",
            )
        if outdated(locked):
            ReleasedNote.objects.filter(release=locked).update(state=ReleasedNoteState.PENDING)
            locked.state, locked.begun_at = ReleaseState.PREPARING, timezone.now()
            locked.content_hash, locked.revision = "", locked.revision + 1
            total = ReleasedNote.objects.filter(release=locked).count()
            locked.job = enqueue_job(locked, key_of(KIND, f"{locked.pk}-again-{uuid.uuid4().hex}"), actor, total)
            locked.save(update_fields=["state", "begun_at", "content_hash", "revision", "job"])
            RELEASE_PREPARED_AGAIN.record(
                actor=actor, project_id=locked.project_id, data={"release": locked.number, "notes": total}
            )
    release.refresh_from_db()
    return release
