"""Change the skills of a project."""

from collections.abc import Iterable

from django.db import transaction
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.models import Project, User
from annotations.projects.selectors.labels import accepted_labels
from annotations.text.names import WordingError, worded
from models_runtime.backends.refining.state import LONGEST, NAME
from models_runtime.models import ReviewSkill
from models_runtime.refining.events import SKILL_CHANGED
from models_runtime.refining.selectors import present


def set_skill(
    *,
    project: Project,
    name: str,
    labels: Iterable[str],
    text: str,
    actor: User | None,
    seen_version: int | None = None,
) -> int:
    """Save a new version of a skill, and return its number. Without a change, the present number is returned.

    An empty text switches the skill off. Raises ServiceError `name`, `labels`, `text`, and `stale` if somebody saved
    another version after `seen_version`.
    """
    if not NAME.fullmatch(name):
        raise ServiceError(
            _(
                "The name must begin with a lowercase letter and contain only a-z, 0-9 and hyphens, at most 40 "
                "characters."
            ),
            code="name",
        )
    try:
        text = worded(text, LONGEST, blank=True)
    except WordingError as error:
        raise ServiceError(str(error), code="text") from error
    codes = sorted(set(labels))
    _accepted, ids = accepted_labels(project)
    unknown = [code for code in codes if code != "*" and code not in ids]
    if unknown:
        raise ServiceError(
            _("There is no label “%(code)s”. Labels: %(known)s.")
            % {"code": unknown[0][:40], "known": ", ".join(sorted(ids))},
            code="labels",
        )
    if text and not codes:
        raise ServiceError(_("Name at least one label, or * for all."), code="labels")
    with transaction.atomic():
        Project.objects.select_for_update().get(pk=project.pk)
        old = present(project, name)
        if seen_version is not None and seen_version != old.version:
            raise ServiceError(
                _("Someone else saved this guidance meanwhile. Your text was not saved. It is still in the form."),
                code="stale",
            )
        if (codes, text) == (sorted(old.labels), old.text):
            return old.version
        row = ReviewSkill.objects.create(
            project=project, name=name, version=old.version + 1, labels=codes, text=text, created_by=actor
        )
        SKILL_CHANGED.record(
            actor=actor, project_id=project.pk, data={"skill": row.pk, "version": row.version, "length": len(text)}
        )
    return row.version
