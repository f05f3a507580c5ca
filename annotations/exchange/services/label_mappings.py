"""Add, change and delete label mappings."""

from collections.abc import Mapping

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.core.labels import label_rows
from annotations.core.locks import keep_labels
from annotations.core.names import good_name
from annotations.exchange.events import LABEL_MAPPING_ADDED, LABEL_MAPPING_CHANGED, LABEL_MAPPING_DELETED
from annotations.exchange.selectors.label_mappings import codes_of, seen_of, target_of
from annotations.models import LabelMapping, MappedLabel, Project, User
from annotations.projects.services.projects import shipped_label_sets
from annotations.text.labels import CODE
from annotations.text.names import shown

LONGEST_CODE = 60


def add_mapping(*, project: Project, name: str, target: str, actor: User | None) -> LabelMapping:
    """Add a mapping without rows. `target` is the key of a shipped label set, or empty. Raises ServiceError."""
    name = _good_name(name)
    if target and target not in shipped_label_sets():
        raise ServiceError(
            _("There is no label set “%(target)s”. Choose one from the list.") % {"target": shown(target)},
            code="target",
        )
    try:
        with transaction.atomic():
            mapping = LabelMapping.objects.create(project=project, name=name, target=target, created_by=actor)
            LABEL_MAPPING_ADDED.record(actor=actor, project_id=project.pk, data={"mapping": mapping.pk})
    except IntegrityError as error:
        raise _taken(name) from error
    return mapping


def change_mapping(
    *, mapping: LabelMapping, name: str, codes: Mapping[int, str], seen: str | None, actor: User | None
) -> LabelMapping:
    """Set the name and all rows: the written code by label id; empty leaves the label's spans out.

    Labels that `codes` lacks have no choice yet. Raises ServiceError; `stale` if somebody changed the mapping or the
    labels after the state `seen`.
    """
    name = _good_name(name)
    try:
        with transaction.atomic():
            keep_labels(mapping.project_id)
            mapping = LabelMapping.objects.select_for_update().get(pk=mapping.pk)
            before = codes_of(mapping)
            if (mapping.name, before) == (name, dict(codes)):
                return mapping
            if seen is not None and seen != seen_of(mapping):
                raise ServiceError(
                    _("Somebody else changed this mapping or the labels meanwhile. Nothing was saved. Compare both."),
                    code="stale",
                )
            _check_codes(mapping, codes)
            mapping.name = name
            mapping.save(update_fields=["name"])
            mapping.rows.all().delete()
            MappedLabel.objects.bulk_create(
                MappedLabel(mapping=mapping, label_id=pk, code=code) for pk, code in codes.items()
            )
            out = sum(not code for code in codes.values())
            LABEL_MAPPING_CHANGED.record(
                actor=actor,
                project_id=mapping.project_id,
                data={"mapping": mapping.pk, "mapped": len(codes) - out, "left_out": out},
            )
    except LabelMapping.DoesNotExist as error:
        raise ServiceError(
            _("Somebody else deleted this mapping meanwhile. Nothing was saved."), code="gone"
        ) from error
    except IntegrityError as error:
        raise _taken(name) from error
    return mapping


def delete_mapping(*, mapping: LabelMapping, actor: User | None) -> None:
    """Delete a mapping. Exports that have started keep the codes that they started with."""
    with transaction.atomic():
        deleted, _rows = LabelMapping.objects.filter(pk=mapping.pk).delete()
        if deleted:
            LABEL_MAPPING_DELETED.record(actor=actor, project_id=mapping.project_id, data={"mapping": mapping.pk})


def check_code(code: str, label: str) -> str:
    """Return the code as files can hold it. Raises ServiceError, which names the `label`, for any other text."""
    code = code.strip()
    if len(code) > LONGEST_CODE or not CODE.fullmatch(code):
        raise ServiceError(
            _(
                "“%(code)s” can't be written for the label “%(label)s”. A code has at most %(most)s characters: "
                "A-Z, a-z, 0-9, “_” and “-”, with a letter or digit."
            )
            % {"code": shown(code)[:80], "label": label, "most": LONGEST_CODE},
            code="code",
        )
    return code


def check_cases(codes: Mapping[str, str]) -> None:
    """Raise ServiceError if two written codes differ only in case. `codes` has the written code by label name."""
    first: dict[str, str] = {}
    for code in filter(None, codes.values()):
        other = first.setdefault(code.casefold(), code)
        if other != code:
            raise ServiceError(
                _("The codes “%(one)s” and “%(other)s” differ only in case, so that readers confuse them. Use one.")
                % {"one": other, "other": code},
                code="case",
            )


def _check_codes(mapping: LabelMapping, codes: Mapping[int, str]) -> None:
    labels = {label.pk: label for label in label_rows(mapping.project_id)}
    target = target_of(mapping.target)
    allowed = {label.code for label in target.labels()} if target else None
    for pk, code in codes.items():
        if pk not in labels:
            raise ServiceError(_("This project has no such label. Nothing was saved. Reload the page."), code="label")
        if code:
            check_code(code, labels[pk].name)
        if code and allowed is not None and code not in allowed:
            raise ServiceError(
                _("The label set has no label “%(code)s”. Choose a label from the list.") % {"code": shown(code)},
                code="code",
            )
    check_cases({labels[pk].name: code for pk, code in codes.items()})


def _good_name(name: str) -> str:
    name = good_name(name)
    if not name:
        raise ServiceError(_("Enter a name for the mapping."), code="name")
    if len(name) > 80:
        raise ServiceError(_("The name has more than 80 characters. Shorten it."), code="name")
    return name


def _taken(name: str) -> ServiceError:
    return ServiceError(
        _("The project has another label mapping with the name “%(name)s”. Choose another name.") % {"name": name},
        code="name",
    )
