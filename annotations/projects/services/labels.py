"""Add, change and merge labels of a project while they are in use."""

from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Exists, F, OuterRef, QuerySet, Subquery
from django.utils.translation import gettext as _

from annotations import models
from annotations.core.services import ServiceError, change_labels, good_name
from annotations.core.spans import definitions
from annotations.core.suggestions import relabel_notes, relabel_strings, remove_strings, tally_of
from annotations.jobs.services.queue import LIVE
from annotations.projects import events
from annotations.projects.selectors.labels import is_shipped, label_uses, seen_of
from annotations.projects.services.categories import changed_meanwhile, free_code, lock_categories, no_category
from annotations.text import attributes as text_attributes
from annotations.text.labels import RESERVED_HOTKEYS, free_hotkeys

# Effect of merging labels on finished adjudications.


def expect_relabeling(label: models.Label) -> None:
    """Keep finished adjudications valid although the merge of a label changes spans of their notes.

    Call this before the merge. It empties `heard`, which the next comparison then fills in. Adjudications that are
    already outdated stay so.
    """
    renamed = models.AnnotationSet.objects.filter(document=OuterRef("document"), spans__label=label)
    stale = models.Stale.objects.filter(document_id=OuterRef("document_id"))
    known = models.Comparison.objects.filter(document=OuterRef("document"))
    models.Adjudication.objects.filter(
        Exists(renamed), ~Exists(stale), heard=Subquery(known.values("heard")[:1])
    ).update(heard="")


EDITABLE = ("name", "hotkey", "description", "placeholder", "attributes", "identifier")


def check_hotkey(hotkey: str) -> str:
    hotkey = hotkey.strip().lower()
    if hotkey and (len(hotkey) != 1 or not hotkey.isascii() or not hotkey.isalnum()):
        message = _("The key must be one letter (a–z) or digit, not “%(hotkey)s”.")
        raise ServiceError(message % {"hotkey": hotkey}, code="hotkey")
    if hotkey in RESERVED_HOTKEYS:
        message = _("The key “%(hotkey)s” is reserved by the program. Choose another key.")
        raise ServiceError(message % {"hotkey": hotkey}, code="hotkey")
    return hotkey


def update_label(
    *,
    label: models.Label,
    actor: models.User | None,
    category: models.Category | None = None,
    seen: str | None = None,
    **changes: str,
) -> models.Label:
    """Change name, hotkey, description, placeholder, attributes, identifier type or category.

    The code stays: files and frozen gold use it. `attributes` are lines as `definitions_in` reads them; spans keep the
    attributes that they have. Raises ServiceError (`stale`) if somebody changed the label after the state `seen`.
    """
    if unknown := set(changes) - set(EDITABLE):
        message = _("Labels don't have these editable fields: %(choices)s.")
        raise ServiceError(message % {"choices": ", ".join(sorted(unknown))})
    # A key from before it was reserved stays until it is changed.
    if changes.get("hotkey", label.hotkey) != label.hotkey:
        changes["hotkey"] = check_hotkey(changes["hotkey"])
    for field in ("name", "placeholder"):
        if field in changes:
            changes[field] = good_name(changes[field], code=field)
        if field in changes and not changes[field]:
            raise ServiceError(
                _("Enter a name for the label.") if field == "name" else _("Enter a placeholder for the label."),
                code=field,
            )
    if changes.get("identifier", label.identifier) != label.identifier and is_shipped(label):
        raise ServiceError(
            _("The label set says what this label identifies. Add a label of your own."), code="identifier"
        )
    values: dict[str, Any] = {field: value.strip() for field, value in changes.items()}
    if "attributes" in changes:
        values["attributes"] = text_attributes.as_data(check_attributes(changes["attributes"]))
    try:
        with transaction.atomic():
            if category is not None:
                _check_category(label.label_set_id, category)
            fresh = models.Label.objects.select_for_update().get(pk=label.pk)
            before = {field: getattr(fresh, field) for field in values if getattr(fresh, field) != values[field]}
            moved_from = fresh.category if category is not None and fresh.category_id != category.pk else None
            if not before and moved_from is None:
                return label
            if seen is not None and seen != seen_of(fresh):
                raise changed_meanwhile()
            name, hotkey = (values[field] if field in before else "" for field in ("name", "hotkey"))
            _check_free(label.label_set_id, name, hotkey, but=label.pk)
            for field in before:
                setattr(label, field, values[field])
            label.category = category or fresh.category
            label.save(update_fields=[*before, *(["category"] if moved_from else [])])
            events.LABEL_CHANGED.record(
                actor=actor, project_id=label.label_set.project_id, data=_change(label, before, moved_from)
            )
    except IntegrityError as error:
        label.refresh_from_db()
        raise _taken() from error
    return label


def current(label: models.Label) -> dict[str, Any]:
    """The editable fields of a label as its form has them: the category's id, and attributes as lines."""
    lines = text_attributes.as_lines(definitions(label))
    fields = {field: getattr(label, field) for field in EDITABLE}
    return fields | {"category": label.category_id, "attributes": lines}


def _taken() -> ServiceError:
    """Another label got the name or the key at the same moment."""
    message = _("Another label already has this name or key. Choose another. Nothing was changed.")
    return ServiceError(message, code="taken")


def _check_free(label_set_id: int, name: str, hotkey: str, but: int = 0) -> None:
    """Raise ServiceError (`name`, `hotkey`) where another label has the name or the key; empty ones are not checked."""
    others = models.Label.objects.filter(label_set=label_set_id, merged_into__isnull=True).exclude(pk=but)
    if name and (other := others.filter(name__iexact=name).first()):
        message = _("The label “%(name)s” already exists. Choose another name.")
        raise ServiceError(message % {"name": other.name}, code="name")
    if hotkey and (other := others.filter(hotkey=hotkey).first()):
        message = _(
            "The key “%(key)s” belongs to the label %(name)s. Choose another key, or remove it from %(name)s first."
        )
        raise ServiceError(message % {"key": hotkey, "name": other.name}, code="hotkey")


def _check_category(label_set_id: int, category: models.Category) -> None:
    """Check that the category still exists. It can't be deleted until the transaction ends."""
    if category.label_set_id != label_set_id:
        raise ServiceError(_("This category belongs to another project."), code="category")
    if category.pk not in [row.pk for row in lock_categories(label_set_id)]:
        raise no_category()


def check_attributes(lines: str) -> tuple[text_attributes.AttributeDef, ...]:
    """The attributes in these lines. Raises ServiceError `attributes`."""
    try:
        return text_attributes.definitions_in(lines)
    except text_attributes.AttributeDefError as error:
        raise ServiceError(str(error), code="attributes") from None


def _change(label: models.Label, before: dict[str, Any], moved_from: models.Category | None) -> events.LabelChanged:
    """Event data: names, keys, attributes and category codes before and after.

    A description is free text, so only its change is recorded.
    """
    recorded = {field: _recorded(value) for field, value in before.items() if field != "description"}
    after = {field: _recorded(getattr(label, field)) for field in recorded}
    fields = sorted(before)
    if moved_from:
        recorded, after = recorded | {"category": moved_from.code}, after | {"category": label.category.code}
        fields = sorted([*fields, "category"])
    change: events.LabelChanged = {"label": label.code, "fields": fields}
    if recorded:
        change |= {"before": recorded, "after": after}
    return change


def _recorded(value: Any) -> str:
    return value if isinstance(value, str) else text_attributes.as_lines(text_attributes.definitions_of(value))


def add_label(
    *, label_set: models.LabelSet, category: models.Category, name: str, actor: models.User | None, hotkey: str = "",
    description: str = "", attributes: str = "", identifier: str = "",
) -> models.Label:  # fmt: skip
    """Add a label at the end of the list. Its ASCII code is made from the name, and so is the key if none is given."""
    name = good_name(name)
    if not name:
        raise ServiceError(_("Enter a name for the label."), code="name")
    taken_keys = label_set.labels.values_list("hotkey", flat=True)
    hotkey = check_hotkey(hotkey) or free_hotkeys([name], taken_keys)[0]
    _check_free(label_set.pk, name, hotkey)
    taken = _("In files, this label would have the code “%(code)s”, like the label %(name)s. Choose another name.")
    code = free_code(name, label_set.labels.all(), taken)
    try:
        with transaction.atomic():
            _check_category(label_set.pk, category)
            label = models.Label.objects.create(
                label_set=label_set,
                category=category,
                code=code,
                name=name,
                hotkey=hotkey,
                description=description.strip(),
                attributes=text_attributes.as_data(check_attributes(attributes)),
                identifier=identifier,
                placeholder=f"[{name}]"[:60],
                position=label_set.labels.count(),
            )
            events.LABEL_ADDED.record(actor=actor, project_id=label_set.project_id, data={"label": code})
    except IntegrityError as error:
        raise _taken() from error
    return label


def _duplicates(source: models.Label, target: models.Label) -> "QuerySet[models.Span]":
    """Spans of `source` whose set has a span of `target` with the same offsets. A merge deletes them."""
    same_bounds = models.Span.objects.filter(
        annotation_set=OuterRef("annotation_set"), start=OuterRef("start"), end=OuterRef("end"), label=target
    )
    return models.Span.objects.filter(label=source).filter(Exists(same_bounds))


def merge_preview(*, source: models.Label, target: models.Label) -> events.LabelMerge:
    """Counts of what a merge would change. Frozen gold versions keep the old label."""
    _check_merge(source, target)
    spans = models.Span.objects.filter(label=source)
    return {
        "source": source.code,
        "target": target.code,
        "spans": spans.count(),
        "notes": spans.values("annotation_set__document").distinct().count(),
        "already_there": _duplicates(source, target).count(),
    }


def _check_merge(source: models.Label, target: models.Label) -> None:
    if source.pk == target.pk:
        raise ServiceError(_("A label can't be merged into itself."), code="same")
    if source.label_set_id != target.label_set_id:
        raise ServiceError(_("Labels of different projects can't be merged."), code="label-set")
    if source.merged_into_id or target.merged_into_id:
        raise ServiceError(_("This label was already merged."), code="merged")
    try:
        text_attributes.check_definitions(text_attributes.joined(definitions(target), definitions(source)))
    except text_attributes.AttributeDefError as error:
        message = _("The labels have too many attributes to be merged. %(reason)s Remove some of them first.")
        raise ServiceError(message % {"reason": error}, code="attributes") from error


def merge_labels(*, source: models.Label, target: models.Label, actor: models.User | None) -> events.LabelMerge:
    """Give every span of `source` the label `target`, and free the name and key of `source`. Return the counts."""
    with transaction.atomic():
        change_labels(source.label_set.project_id)
        list(models.Label.objects.select_for_update().filter(pk__in=[source.pk, target.pk]))
        source.refresh_from_db()
        target.refresh_from_db()
        preview = merge_preview(source=source, target=target)
        expect_relabeling(source)
        models.AnnotationSet.objects.filter(spans__label=source).update(version=F("version") + 1)
        duplicates = list(_duplicates(source, target).values_list("pk", flat=True))
        for at in range(0, len(duplicates), 500):
            spans = models.Span.objects.filter(pk__in=duplicates[at : at + 500])
            gone = tally_of(spans)
            spans.delete()
            remove_strings(gone)
        models.Span.objects.filter(label=source).update(label=target)
        relabel_strings(source.pk, target.pk)
        relabel_notes(source.pk, target.pk)
        models.Decision.objects.filter(label_id=source.pk).update(label_id=target.pk)
        models.Label.objects.filter(merged_into=source).update(merged_into=target)
        # Each user keeps their own key for the target label.
        models.PersonalKey.objects.filter(label=source).delete()
        # In a label mapping, the target keeps its own code, or gets that of the source.
        rows = models.MappedLabel.objects.filter(label=source)
        rows.exclude(mapping__rows__label=target).update(label=target)
        rows.delete()
        source.merged_into, source.hotkey = target, ""
        source.save(update_fields=["merged_into", "hotkey"])
        # The spans keep their attributes, so the target label gets them too.
        target.attributes = text_attributes.as_data(text_attributes.joined(definitions(target), definitions(source)))
        target.save(update_fields=["attributes"])
        events.LABEL_MERGED.record(actor=actor, project_id=source.label_set.project_id, data=preview)
    return preview


def delete_label(*, label: models.Label, actor: models.User | None) -> None:
    """Delete a label that nothing uses. Raises ServiceError: `used`, `last`, or `jobs`, which may hold its id."""
    with transaction.atomic():
        project = label.label_set.project_id
        change_labels(project)
        # Starting a job locks the project too.
        models.Project.objects.select_for_update().get(pk=project)
        label = models.Label.objects.select_for_update().select_related("label_set").get(pk=label.pk)
        if label.merged_into_id:
            raise ServiceError(_("This label was already merged."), code="merged")
        if label_uses(label):
            message = _("The label %(name)s is used, so it can't be deleted. Merge it into another label instead.")
            raise ServiceError(message % {"name": label.name}, code="used")
        if not label.label_set.labels.filter(merged_into__isnull=True).exclude(pk=label.pk).exists():
            raise ServiceError(_("This is the only label. Add another label before you delete it."), code="last")
        if models.Job.objects.filter(project=project, state__in=LIVE).exists():
            message = _("Jobs are running in this project and may use the label. Wait until they end, or cancel them.")
            raise ServiceError(message, code="jobs")
        events.LABEL_DELETED.record(actor=actor, project_id=project, data={"label": label.code, "id": label.pk})
        label.delete()
