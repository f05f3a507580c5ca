"""Which codes an export writes for labels: the project's own, those of a label mapping, or those of a command."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.core.labels import label_rows
from annotations.exchange.selectors.label_mappings import codes_of, mapping_named
from annotations.exchange.services.label_mappings import check_cases, check_code
from annotations.formats.base import LabelFinder
from annotations.models import Label, LabelMapping, Project
from annotations.projects.selectors.labels import accepted_labels
from annotations.text.names import shown


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
        codes = {str(pk): code for pk, code in self.codes.items()}
        return {"codes": codes, "mapping": self.mapping, "name": self.name, "target": self.target}

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
class WrittenLine:
    """A written code (empty: left out), and the labels behind it with their spans; only labels that have spans."""

    code: str
    labels: list[tuple[str, int]]

    @property
    def spans(self) -> int:
        return sum(count for _label, count in self.labels)


def written_lines(project: Project, counts: Mapping[str, int], labels: ExportLabels) -> list[WrittenLine]:
    """What an export would write, before equal spans are merged: most spans first, left out spans last.

    `counts` has the spans by label code. Raises ServiceError as `ExportLabels.by_code` does.
    """
    codes = labels.by_code(project)
    names = dict(Label.objects.filter(label_set__project=project).values_list("code", "name"))
    found: dict[str, list[tuple[str, int]]] = {}
    for label in sorted(counts, key=lambda code: (-counts[code], code)):
        found.setdefault(codes.get(label, label), []).append((names.get(label, label), counts[label]))
    lines = [WrittenLine(code, rows) for code, rows in found.items()]
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
            raise ServiceError(
                _("The project has no label “%(label)s”. Choose one of: %(choices)s.")
                % {"label": shown(name), "choices": ", ".join(ids)},
                code="labels",
            )
        if ids[code] in chosen:
            raise ServiceError(_("The label “%(label)s” is named twice.") % {"label": shown(name)}, code="labels")
        chosen[ids[code]] = written

    for word in mapped:
        name, _sign, written = word.rpartition("=")
        choose(name, check_code(written, shown(name)))
    for word in skipped:
        choose(word, "")
    codes = base.codes | chosen
    if codes:
        check_cases({label.name: codes.get(label.pk, label.code) for label in label_rows(project.pk)})
    return ExportLabels(codes, base.mapping, base.name, base.target)
