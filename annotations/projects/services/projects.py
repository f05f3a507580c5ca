"""Projects: making one, its settings and guidelines."""

import json
from pathlib import Path

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils.text import slugify
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.core.events import record
from annotations.core.names import good_name
from annotations.domain.labels import LabelSetDef, parse_label_set
from annotations.models import Author, Category, Label, LabelSet, Membership, Project, Role, User, Verb
from annotations.models.project import PlantedShare

HUES = 12


def shipped_label_sets() -> dict[str, LabelSetDef]:
    """Every label set in fixtures/label_sets by key, the default (i2b2-2014) first."""
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
) -> Project:
    """A project with its own copy of a shipped label set; `manager` becomes its first member."""
    name = good_name(name)
    if not name:
        raise ServiceError(_("a project needs a name"), code="name")
    chosen = slugify(slug or name)[:60].strip("-")
    if not chosen:
        raise ServiceError(
            _("no short name can be made of %(name)s; give one of letters a-z, digits and hyphens")
            % {"name": repr(name)},
            code="slug",
        )
    definition = _shipped(label_set_key)
    try:
        with transaction.atomic():
            project = Project.objects.create(
                slug=chosen, name=name, language=language.strip().lower(), created_by=actor or manager
            )
            copy_label_set(project, definition)
            record(
                verb=Verb.PROJECT_CREATED,
                actor=actor or manager,
                project_id=project.pk,
                data={"slug": chosen, "label_set": definition.key},
            )
            if manager is not None:
                Membership.objects.create(project=project, user=manager, role=Role.MANAGER)
    except IntegrityError as error:
        raise ServiceError(
            _("a project with the short name %(chosen)s exists already") % {"chosen": repr(chosen)}, code="exists"
        ) from error
    return project


def _shipped(key: str) -> LabelSetDef:
    sets = shipped_label_sets()
    if key not in sets:
        raise ServiceError(
            _("unknown label set %(key)s; there are: %(choices)s") % {"key": repr(key), "choices": ", ".join(sets)},
            code="label-set",
        )
    return sets[key]


def copy_label_set(project: Project, definition: LabelSetDef) -> LabelSet:
    """The project's own rows of a label set; categories get evenly spaced hues in their order."""
    label_set = LabelSet.objects.create(
        project=project, key=definition.key, name=definition.name, source=definition.source
    )
    step = HUES / max(len(definition.categories), 1)
    position = 0
    for place, group in enumerate(definition.categories):
        category = Category.objects.create(
            label_set=label_set, code=group.code, name=group.name, hue=int(place * step) % HUES, position=place
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
                position=position,
            )
            position += 1
    return label_set


SETTINGS = {
    "name",
    "language",
    "distribution",
    "readers_per_note",
    "seed_from",
    "unanimous_passes",
    "anonymous_adjudication",
    "show_outcome",
    "second_review",
    "planted_share",
}


def update_project(*, project: Project, actor: User | None, **changes: object) -> Project:
    """Change some of SETTINGS; the event names the fields. Raises ServiceError."""
    if unknown := set(changes) - SETTINGS:
        raise ServiceError(_("a project has no setting %(choices)s") % {"choices": ", ".join(sorted(unknown))})
    seed = changes.get("seed_from")
    if isinstance(seed, Author) and (seed.project_id != project.pk or seed.kind not in Author.MODELS):
        raise ServiceError(_("annotators can begin from a model run of this project only"), code="seed_from")
    if changes.get("planted_share", PlantedShare.OFF) not in PlantedShare.values:
        shares = ", ".join(map(str, PlantedShare.values))
        raise ServiceError(
            _("leaks are planted in one of these shares of the notes, in percent: %(shares)s") % {"shares": shares},
            code="share",
        )
    if "name" in changes:
        changes["name"] = good_name(str(changes["name"]))
    changed = [field for field, value in changes.items() if getattr(project, field) != value]
    if not changed:
        return project
    with transaction.atomic():
        for field in changed:
            setattr(project, field, changes[field])
        project.save(update_fields=changed)
        record(verb=Verb.PROJECT_CHANGED, actor=actor, project_id=project.pk, data={"fields": changed})
    return project


def set_guidelines(*, project: Project, text: str, actor: User | None, seen_version: int | None = None) -> Project:
    """New guidelines in Markdown. Refused when somebody else saved since `seen_version`."""
    with transaction.atomic():
        fresh = Project.objects.select_for_update().get(pk=project.pk)
        if seen_version is not None and seen_version != fresh.guidelines_version:
            raise ServiceError(
                _("somebody saved other guidelines meanwhile; yours are kept in the form, theirs in the project"),
                code="stale",
            )
        if text != fresh.guidelines:
            fresh.guidelines = text
            fresh.guidelines_version += 1
            fresh.save(update_fields=["guidelines", "guidelines_version"])
            record(
                verb=Verb.GUIDELINES_CHANGED,
                actor=actor,
                project_id=project.pk,
                data={"version": fresh.guidelines_version, "length": len(text)},
            )
    return fresh
