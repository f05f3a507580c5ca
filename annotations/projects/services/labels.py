"""Labels of a project: adding, renaming and merging them while they are in use."""

from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Exists, F, OuterRef, QuerySet
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.core.events import record
from annotations.core.label_lock import change_labels
from annotations.core.names import good_name
from annotations.core.proposed_notes import relabel_notes
from annotations.core.proposed_strings import relabel_strings, remove_strings, tally_of
from annotations.domain.labels import RESERVED_HOTKEYS, ascii_code
from annotations.models import AnnotationSet, Category, Decision, Label, LabelSet, PersonalKey, Span, User, Verb
from annotations.projects.services.relabelling import expect_relabelling

EDITABLE = ("name", "hotkey", "description", "placeholder")


def check_hotkey(hotkey: str) -> str:
    hotkey = hotkey.strip().lower()
    if hotkey and (len(hotkey) != 1 or not hotkey.isascii() or not hotkey.isalnum()):
        raise ServiceError(
            _("the key %(hotkey)s is not one letter a-z or digit") % {"hotkey": repr(hotkey)}, code="hotkey"
        )
    if hotkey in RESERVED_HOTKEYS:
        raise ServiceError(
            _("the key %(hotkey)s already moves about the page; choose another") % {"hotkey": repr(hotkey)},
            code="hotkey",
        )
    return hotkey


def update_label(*, label: Label, actor: User | None, **changes: str) -> Label:
    """Change name, hotkey, description or placeholder. The code stays: files and frozen gold name it."""
    if unknown := set(changes) - set(EDITABLE):
        raise ServiceError(_("a label has no editable %(choices)s") % {"choices": ", ".join(sorted(unknown))})
    if "hotkey" in changes:
        changes["hotkey"] = check_hotkey(changes["hotkey"])
    for field in ("name", "placeholder"):
        if field in changes:
            changes[field] = good_name(changes[field], code=field)
        if field in changes and not changes[field]:
            raise ServiceError(
                _("a label needs a name") if field == "name" else _("a label needs a placeholder"), code=field
            )
    before = {field: getattr(label, field) for field in changes if getattr(label, field) != changes[field]}
    if not before:
        return label
    try:
        with transaction.atomic():
            for field in before:
                setattr(label, field, changes[field].strip())
            label.save(update_fields=list(before))
            record(
                verb=Verb.LABEL_CHANGED,
                actor=actor,
                project_id=label.label_set.project_id,
                data=_told(label, before),
            )
    except IntegrityError as error:
        label.refresh_from_db()
        raise ServiceError(
            _("another label has this name or key already; nothing was changed"), code="taken"
        ) from error
    return label


def _told(label: Label, before: dict[str, str]) -> dict[str, Any]:
    """For the log: names and keys before and after. Of a description, which is free text, only that it changed."""
    words = {field: value for field, value in before.items() if field != "description"}
    told: dict[str, Any] = {"label": label.code, "fields": sorted(before)}
    return told | ({"before": words, "after": {field: getattr(label, field) for field in words}} if words else {})


def add_label(
    *, label_set: LabelSet, category: Category, name: str, actor: User | None, hotkey: str = "", description: str = ""
) -> Label:
    """A new label at the end of the list; its ASCII code is made from the name."""
    name = good_name(name)
    if not name:
        raise ServiceError(_("a label needs a name"), code="name")
    if category.label_set_id != label_set.pk:
        raise ServiceError(_("that category belongs to another project"), code="category")
    try:
        code = ascii_code(name)
    except ValueError as error:
        raise ServiceError(
            _("no code can be made of the name %(name)s: %(error)s") % {"name": repr(name), "error": error}, code="name"
        ) from error
    try:
        with transaction.atomic():
            label = Label.objects.create(
                label_set=label_set,
                category=category,
                code=code,
                name=name,
                hotkey=check_hotkey(hotkey),
                description=description.strip(),
                placeholder=f"[{name}]"[:60],
                position=label_set.labels.count(),
            )
            record(verb=Verb.LABEL_ADDED, actor=actor, project_id=label_set.project_id, data={"label": code})
    except IntegrityError as error:
        raise ServiceError(
            _("a label with the name %(name)s, the code %(code)s or this key exists")
            % {"name": repr(name), "code": repr(code)},
            code="taken",
        ) from error
    return label


def _twins(source: Label, target: Label) -> "QuerySet[Span]":
    """Spans of `source` that `target` already marks in the same set at the same place: the merge drops them."""
    same_place = Span.objects.filter(
        annotation_set=OuterRef("annotation_set"), start=OuterRef("start"), end=OuterRef("end"), label=target
    )
    return Span.objects.filter(label=source).filter(Exists(same_place))


def merge_preview(*, source: Label, target: Label) -> dict[str, Any]:
    """What a merge would do, in counts; frozen gold versions keep the old label in any case."""
    _check_merge(source, target)
    spans = Span.objects.filter(label=source)
    return {
        "source": source.code,
        "target": target.code,
        "spans": spans.count(),
        "notes": spans.values("annotation_set__document").distinct().count(),
        "already_there": _twins(source, target).count(),
    }


def _check_merge(source: Label, target: Label) -> None:
    if source.pk == target.pk:
        raise ServiceError(_("a label can't be merged into itself"), code="same")
    if source.label_set_id != target.label_set_id:
        raise ServiceError(_("labels of two projects can't be merged"), code="label-set")
    if source.merged_into_id or target.merged_into_id:
        raise ServiceError(_("that label was merged already"), code="merged")


def merge_labels(*, source: Label, target: Label, actor: User | None) -> dict[str, Any]:
    """Every span of `source` becomes one of `target`; the name and key of `source` are free again."""
    with transaction.atomic():
        change_labels(source.label_set.project_id)
        list(Label.objects.select_for_update().filter(pk__in=[source.pk, target.pk]))
        source.refresh_from_db()
        target.refresh_from_db()
        preview = merge_preview(source=source, target=target)
        expect_relabelling(source)
        AnnotationSet.objects.filter(spans__label=source).update(version=F("version") + 1)
        twins = list(_twins(source, target).values_list("pk", flat=True))
        for at in range(0, len(twins), 500):
            spans = Span.objects.filter(pk__in=twins[at : at + 500])
            gone = tally_of(spans)
            spans.delete()
            remove_strings(gone)
        Span.objects.filter(label=source).update(label=target)
        relabel_strings(source.pk, target.pk)
        relabel_notes(source.pk, target.pk)
        Decision.objects.filter(label_id=source.pk).update(label_id=target.pk)
        Label.objects.filter(merged_into=source).update(merged_into=target)
        # Each person keeps the key that they use for the target.
        PersonalKey.objects.filter(label=source).delete()
        source.merged_into, source.hotkey = target, ""
        source.save(update_fields=["merged_into", "hotkey"])
        record(verb=Verb.LABEL_MERGED, actor=actor, project_id=source.label_set.project_id, data=preview)
    return preview
