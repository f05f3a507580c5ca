"""Create projects, and change their settings and guidelines."""

import json
from pathlib import Path

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.text import slugify
from django.utils.translation import gettext as _

from annotations.core.services import ServiceError, begin_archiving, change_labels, good_name
from annotations.models import Author, Category, Import, ImportState, Label, LabelSet, Membership, Project, Role, User
from annotations.projects import events
from annotations.projects.selectors.projects import live_jobs
from annotations.text.attributes import as_data
from annotations.text.labels import EMPTY_LABEL_SET, LabelSetDef, LabelSetError, own_label_set, parse_label_set

HUES = 12


def shipped_label_sets() -> dict[str, LabelSetDef]:
    """All label sets in fixtures/label_sets by key, the default (i2b2-2014) first."""
    found = {}
    for file in sorted(Path(settings.FIXTURES_DIR, "label_sets").glob("*.json")):
        if file.name != "mappings.json":
            label_set = parse_label_set(json.loads(file.read_text(encoding="utf-8")))
            found[label_set.key] = label_set
    return dict(sorted(found.items(), key=lambda item: (item[0] != "i2b2-2014", item[0])))


def create_project(
    *,
    name: str,
    label_set_key: str,
    language: str = "",
    manager: User | None = None,
    slug: str | None = None,
    actor: User | None = None,
    own_labels: str = "",
    distribution: str = Project.Distribution.EVERYONE,
) -> Project:
    """Create a project with its own copy of a shipped label set. `manager` becomes its first member.

    The key `own` takes the lines of `own_labels` as `own_label_set` reads them, and `empty` gives no labels.
    """
    name = good_name(name)
    if not name:
        raise ServiceError(_("Enter a name for the project."), code="name")
    chosen = slugify(slug or name)[:60].strip("-")
    if not chosen:
        message = _("No short name can be made from “%(name)s”. Choose a name with letters a–z or digits.")
        raise ServiceError(message % {"name": name}, code="slug")
    definition = _label_set(label_set_key, own_labels)
    try:
        with transaction.atomic():
            project = Project.objects.create(
                slug=chosen,
                name=name,
                language=language.strip().lower(),
                created_by=actor or manager,
                distribution=distribution,
            )
            copy_label_set(project, definition)
            events.PROJECT_CREATED.record(
                actor=actor or manager, project_id=project.pk, data={"slug": chosen, "label_set": definition.key}
            )
            if manager is not None:
                Membership.objects.create(project=project, user=manager, role=Role.MANAGER)
    except IntegrityError as error:
        message = _("A project with the short name “%(chosen)s” already exists. Choose another name.")
        raise ServiceError(message % {"chosen": chosen}, code="exists") from error
    return project


def _label_set(key: str, own_labels: str) -> LabelSetDef:
    if key == "own":
        try:
            return own_label_set(own_labels)
        except LabelSetError as error:
            raise ServiceError(str(error), code="own_labels") from None
    sets = shipped_label_sets() | {EMPTY_LABEL_SET.key: EMPTY_LABEL_SET}
    if key not in sets:
        message = _("“%(key)s” is not a label set. Choose one of: %(choices)s.")
        raise ServiceError(message % {"key": key, "choices": ", ".join(sets)}, code="label-set")
    return sets[key]


def copy_label_set(project: Project, definition: LabelSetDef) -> LabelSet:
    """Copy a label set into the project. Categories get evenly spaced hues in order."""
    label_set = LabelSet.objects.create(
        project=project, key=definition.key, name=definition.name, source=definition.source
    )
    step = HUES / max(len(definition.categories), 1)
    position = 0
    for order, group in enumerate(definition.categories):
        category = Category.objects.create(
            label_set=label_set, code=group.code, name=group.name, hue=int(order * step) % HUES, position=order
        )
        for label in group.labels:
            Label.objects.create(
                label_set=label_set,
                category=category,
                code=label.code,
                name=label.name,
                hotkey=label.hotkey,
                description=label.description,
                placeholder=label.placeholder,
                attributes=as_data(label.attributes),
                identifier=label.identifier,
                position=position,
            )
            position += 1
    return label_set


def update_project(*, project: Project, actor: User | None, **changes: object) -> Project:
    """Change some of the settings that SettingsForm has. The event names the changed fields."""
    seed = changes.get("seed_from")
    if isinstance(seed, Author) and (seed.project_id != project.pk or seed.kind not in Author.MODELS):
        raise ServiceError(_("Annotators can start only from a model run of this project."), code="seed_from")
    if "name" in changes:
        changes["name"] = good_name(str(changes["name"]))
    changed = [field for field, value in changes.items() if getattr(project, field) != value]
    if not changed:
        return project
    with transaction.atomic():
        for field in changed:
            setattr(project, field, changes[field])
        project.save(update_fields=changed)
        events.PROJECT_CHANGED.record(actor=actor, project_id=project.pk, data={"fields": changed})
    return project


def set_guidelines(*, project: Project, text: str, actor: User | None, seen_version: int | None = None) -> Project:
    """Save guidelines in Markdown. Raises ServiceError if somebody saved another version after `seen_version`."""
    with transaction.atomic():
        fresh = Project.objects.select_for_update().get(pk=project.pk)
        if seen_version is not None and seen_version != fresh.guidelines_version:
            raise ServiceError(
                _("Someone else saved the guidelines meanwhile. Your text was not saved. It is still in the form."),
                code="stale",
            )
        if text != fresh.guidelines:
            fresh.guidelines = text
            fresh.guidelines_version += 1
            fresh.save(update_fields=["guidelines", "guidelines_version"])
            events.GUIDELINES_CHANGED.record(
                actor=actor, project_id=project.pk, data={"version": fresh.guidelines_version, "length": len(text)}
            )
    return fresh


# Archive a project, which makes it read-only for everyone, and restore it.


def archive_project(*, project: Project, actor: User | None) -> bool:
    """Archive a project. Return whether it was open. Raises ServiceError while a job or an import is unfinished.

    The locks wait for changes of spans under way and for jobs that are being started: they are stored before.
    """
    with transaction.atomic():
        change_labels(project.pk)
        fresh = Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        if fresh.archived_at is not None:
            return False
        begin_archiving(project.pk)
        check_no_jobs(project)
        events.PROJECT_ARCHIVED.record(actor=actor, project_id=project.pk, data={})
        fresh.archived_at = timezone.now()
        fresh.save(update_fields=["archived_at"])
    return True


def check_no_jobs(project: Project) -> None:
    """Raise ServiceError while a job of the project waits, runs or is paused, or a command imports notes."""
    if live_jobs(project):
        message = _("Some jobs of this project are waiting, running or paused. Wait until they finish, or cancel them.")
        raise ServiceError(message, code="jobs")
    if Import.objects.filter(project=project, state=ImportState.RUNNING).exists():
        raise ServiceError(_("An import is running. Wait until it finishes, or cancel it."), code="import")


def restore_project(*, project: Project, actor: User | None) -> bool:
    """Make an archived project open again. Return whether it was archived."""
    with transaction.atomic():
        restored = Project.objects.filter(pk=project.pk, archived_at__isnull=False).update(archived_at=None)
        if restored:
            events.PROJECT_RESTORED.record(actor=actor, project_id=project.pk, data={})
    return bool(restored)
