"""Add, change and delete label mappings."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from annotations.core.labels import label_rows
from annotations.core.services import ServiceError, good_name, keep_labels
from annotations.exchange.events import LABEL_MAPPING_ADDED, LABEL_MAPPING_CHANGED, LABEL_MAPPING_DELETED
from annotations.exchange.selectors import codes_of, mapping_named, seen_of, target_of
from annotations.formats.base import LabelFinder
from annotations.models import Label, LabelMapping, MappedLabel, Project, User
from annotations.projects.selectors.labels import accepted_labels
from annotations.projects.services.projects import shipped_label_sets
from annotations.text.labels import CODE
from annotations.text.names import printable

LONGEST_CODE = 60


def add_mapping(*, project: Project, name: str, target: str, actor: User | None) -> LabelMapping:
    """Add a mapping without rows. `target` is the key of a shipped label set, or empty. Raises ServiceError."""
    name = _good_name(name)
    if target and target not in shipped_label_sets():
        message = _("There is no label set “%(target)s”. Choose one from the list.")
        raise ServiceError(message % {"target": printable(target)}, code="target")
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
        message = _(
            "“%(code)s” can't be written for the label “%(label)s”. A code has at most %(most)s characters: "
            "A-Z, a-z, 0-9, “_” and “-”, with a letter or digit."
        )
        raise ServiceError(message % {"code": printable(code)[:80], "label": label, "most": LONGEST_CODE}, code="code")
    return code


def check_cases(codes: Mapping[str, str]) -> None:
    """Raise ServiceError if two written codes differ only in case. `codes` has the written code by label name."""
    first: dict[str, str] = {}
    for code in filter(None, codes.values()):
        other = first.setdefault(code.casefold(), code)
        if other != code:
            raise ServiceError(
                _("The codes “%(one)s” and “%(other)s” differ only in case, so readers would confuse them. Use one.")
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
            message = _("The label set has no label “%(code)s”. Choose a label from the list.")
            raise ServiceError(message % {"code": printable(code)}, code="code")
    check_cases({labels[pk].name: code for pk, code in codes.items()})


def _good_name(name: str) -> str:
    name = good_name(name)
    if not name:
        raise ServiceError(_("Enter a name for the mapping."), code="name")
    if len(name) > 80:
        raise ServiceError(_("The name has more than 80 characters. Shorten it."), code="name")
    return name


def _taken(name: str) -> ServiceError:
    message = _("The project has another label mapping with the name “%(name)s”. Choose another name.")
    return ServiceError(message % {"name": name}, code="name")


# Which codes an export writes for labels: the project's own, those of a label mapping, or those of a command.


@dataclass(frozen=True)
class ExportLabels:
    """The code that is written for each label, by label id; empty: its spans are left out.

    With a mapping (its id, name and target), every label needs a code. Without one, the other labels keep their codes.
    An export holds the codes of the moment it was started.
    """

    codes: dict[int, str] = field(default_factory=dict)
    mapping: int | None = None
    name: str = ""
    target: str = ""

    @property
    def differ(self) -> bool:
        return bool(self.codes) or self.mapping is not None

    def as_params(self) -> dict[str, Any]:
        """As JSON, for the parameters of a job."""
        return asdict(self) | {"codes": {str(pk): code for pk, code in self.codes.items()}}

    @classmethod
    def from_params(cls, params: dict[str, Any]) -> Self:
        return cls(**params | {"codes": {int(pk): code for pk, code in params.get("codes", {}).items()}})

    def by_code(self, project: Project) -> dict[str, str]:
        """The written code by the code of every label, in label order. A merged label is written as its target.

        Raises ServiceError (`unmapped`) with the labels that a mapping lacks.
        """
        labels = Label.objects.filter(label_set__project=project)
        rows = list(labels.order_by("position", "id").values_list("pk", "merged_into", "code", "name"))
        found: dict[str, str] = {}
        missing = []
        for pk, merged_into, code, name in rows:
            written = self.codes.get(merged_into or pk)
            if written is None and self.mapping is not None:
                if merged_into is None:
                    missing.append(name)
                continue
            found[code] = code if written is None else written
        if missing:
            raise unmapped(self.name, missing)
        return found


@dataclass(frozen=True)
class WrittenLabel:
    """A code that would be written, with its spans by label; an empty code leaves the spans out."""

    code: str
    spans: int
    labels: dict[str, int]


def written_lines(project: Project, counts: Mapping[str, int], labels: ExportLabels) -> list[WrittenLabel]:
    """What an export would write, before equal spans are merged: most spans first, left out spans last.

    `counts` has the spans by label code. Raises ServiceError as `ExportLabels.by_code` does.
    """
    codes = labels.by_code(project)
    names = dict(Label.objects.filter(label_set__project=project).values_list("code", "name"))
    found: dict[str, dict[str, int]] = {}
    for label in sorted(counts, key=lambda code: (-counts[code], code)):
        found.setdefault(codes.get(label, label), {})[names.get(label, label)] = counts[label]
    lines = [WrittenLabel(code, sum(rows.values()), rows) for code, rows in found.items()]
    return sorted(lines, key=lambda line: (not line.code, -line.spans, line.code))


def unmapped(mapping: str, labels: Sequence[str]) -> ServiceError:
    return ServiceError(
        _(
            "The label mapping “%(mapping)s” lacks these labels: %(labels)s. Nothing was exported. Choose on the page "
            "of the mapping (Export, Label mappings) how each one is written, or leave out its spans."
        )
        % {"mapping": mapping, "labels": ", ".join(f"“{label}”" for label in labels)},
        code="unmapped",
    )


def labels_of_mapping(mapping: LabelMapping) -> ExportLabels:
    return ExportLabels(codes_of(mapping), mapping.pk, mapping.name, mapping.target)


def no_label(name: str, choices: Iterable[str]) -> ServiceError:
    message = _("The project has no label “%(label)s”. Choose one of: %(choices)s.")
    return ServiceError(message % {"label": printable(name), "choices": ", ".join(choices)}, code="labels")


def named_twice(name: str) -> ServiceError:
    return ServiceError(_("The label “%(label)s” is named twice.") % {"label": printable(name)}, code="labels")


def labels_in_words(
    project: Project, *, mapping: str = "", mapped: Sequence[str] = (), skipped: Sequence[str] = ()
) -> ExportLabels:
    """The labels of a mapping by its name, changed by words: `LABEL=CODE`, and `LABEL` to skip. Raises ServiceError."""
    base = labels_of_mapping(mapping_named(project, mapping)) if mapping else ExportLabels()
    accepted, ids = accepted_labels(project)
    find = LabelFinder(accepted)
    chosen: dict[int, str] = {}

    def choose(name: str, written: str) -> None:
        code = find(name)
        if code is None:
            raise no_label(name, ids)
        if ids[code] in chosen:
            raise named_twice(name)
        chosen[ids[code]] = written

    for word in mapped:
        name, _sign, written = word.rpartition("=")
        choose(name, check_code(written, printable(name)))
    for word in skipped:
        choose(word, "")
    codes = base.codes | chosen
    if codes:
        check_cases({label.name: codes.get(label.pk, label.code) for label in label_rows(project.pk)})
    return ExportLabels(codes, base.mapping, base.name, base.target)
