"""Label mappings for pages: their rows with suggestions, and the project's labels that stand behind written codes."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from django.db.models import Count
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.core.labels import label_rows
from annotations.exchange.rules.likely_labels import likely_labels
from annotations.formats.base import LabelFinder
from annotations.gold.services.sets import FOLDERS, SetChoice
from annotations.models import (
    AnnotationSetState,
    AuthorKind,
    GoldVersionNote,
    Label,
    LabelMapping,
    Project,
    Span,
)
from annotations.projects.selectors.label_maps import mappings, shipped_set
from annotations.text.labels import LabelSetDef
from annotations.text.names import shown
from annotations.text.numbers import whole


@dataclass(frozen=True)
class MappingRow:
    """A label of the project: its spans in the gold standard, and how it is written.

    `code` is None for a label without a choice, and empty if its spans are left out. `suggestion` may be empty.
    """

    label: Label
    spans: int
    code: str | None
    suggestion: str


def mappings_of(project: Project) -> list[LabelMapping]:
    return list(LabelMapping.objects.filter(project=project))


def mapping_named(project: Project, name: str) -> LabelMapping:
    """The mapping with this name. Raises ServiceError with the names that exist."""
    found = LabelMapping.objects.filter(project=project, name=name).first()
    if found is None:
        names = ", ".join(f"“{one.name}”" for one in mappings_of(project)) or _("none")
        raise ServiceError(
            _("There is no label mapping “%(name)s”. Label mappings of this project: %(names)s.")
            % {"name": shown(name), "names": names},
            code="mapping",
        )
    return found


def mapping_by_id(project: Project, given: str) -> LabelMapping:
    """The mapping whose id a form sends. Raises ServiceError if it doesn't exist."""
    pk = whole(given)
    found = LabelMapping.objects.filter(project=project, pk=pk).first() if pk is not None else None
    if found is None:
        raise ServiceError(
            _("This project has no such label mapping; perhaps somebody deleted it. Choose from the list."),
            code="mapping",
        )
    return found


def target_of(key: str) -> LabelSetDef | None:
    """The shipped label set with this key. None for an empty key, or a set that is no longer shipped."""
    try:
        return shipped_set(key) if key else None
    except FileNotFoundError:
        return None


def codes_of(mapping: LabelMapping) -> dict[int, str]:
    """The written codes by label id. An empty code leaves the spans of the label out."""
    return dict(mapping.rows.order_by("label_id").values_list("label_id", "code"))


def mapping_rows(mapping: LabelMapping) -> list[MappingRow]:
    """Every label of the project, in its order."""
    codes = codes_of(mapping)
    spans = gold_spans(mapping.project)
    labels = list(label_rows(mapping.project_id).select_related("category"))
    suggested = suggested_codes(mapping.project, labels, mapping.target)
    return [
        MappingRow(label, spans.get(label.pk, 0), codes.get(label.pk), suggested.get(label.pk, "")) for label in labels
    ]


def open_labels(mapping: LabelMapping) -> list[Label]:
    """The labels of the project that the mapping doesn't contain."""
    codes = codes_of(mapping)
    return [label for label in label_rows(mapping.project_id) if label.pk not in codes]


def open_counts(project: Project) -> dict[int, int]:
    """The number of labels that each mapping doesn't contain, by the id of the mapping."""
    total = label_rows(project.pk).count()
    mapped = LabelMapping.objects.filter(project=project).order_by().annotate(mapped=Count("rows"))
    return {pk: total - count for pk, count in mapped.values_list("pk", "mapped")}


def seen_of(mapping: LabelMapping) -> str:
    """A digest of what the form of a mapping shows, to notice that somebody else changed the mapping or the labels."""
    content = [mapping.name, sorted(codes_of(mapping).items()), [label.pk for label in label_rows(mapping.project_id)]]
    return sha256(json.dumps(content).encode()).hexdigest()[:16]


def gold_spans(project: Project) -> dict[int, int]:
    """The number of spans in the gold standard by label id."""
    spans = Span.objects.filter(annotation_set__author__project=project, annotation_set__author__kind=AuthorKind.GOLD)
    return dict(spans.order_by().values_list("label").annotate(count=Count("pk")))


def spans_by_label(wanted: SetChoice) -> Counter[str]:
    """The number of spans of the annotation sets to export, by the code of their label."""
    found: Counter[str] = Counter()
    if wanted.version is None:
        spans = Span.objects.filter(
            annotation_set__author=wanted.author, annotation_set__state=AnnotationSetState.SUBMITTED
        )
        found.update(dict(spans.order_by().values_list("label__code").annotate(count=Count("pk"))))
        return found
    notes = GoldVersionNote.objects.filter(version=wanted.version).order_by()
    if wanted.split not in ("", FOLDERS):
        notes = notes.filter(split=wanted.split)
    for rows in notes.values_list("spans", flat=True).iterator(chunk_size=500):
        found.update(row[2] for row in rows)
    return found


def suggested_codes(project: Project, labels: Sequence[Label], target: str) -> dict[int, str]:
    """What each label probably means in the shipped set `target`: by a shipped mapping, its code or name, or alike.

    Without a target, each label has its own code.
    """
    label_set = target_of(target)
    if label_set is None:
        return {} if target else {label.pk: label.code for label in labels}
    accepted = label_set.accepted()
    codes = {label.code for label in label_set.labels()}
    find = LabelFinder(accepted)
    shipped = mappings().get((project.label_set.key, target))
    found = {}
    for label in labels:
        by_mapping = (shipped.labels.get(label.code) or "") if shipped and not shipped.to_category else ""
        likely = [*likely_labels(label.name, accepted), *likely_labels(label.code, accepted)]
        code = by_mapping or find(label.code) or find(label.name) or next(iter(likely), "")
        if code in codes:
            found[label.pk] = code
    return found


def labels_behind(mapping: LabelMapping) -> Mapping[str, list[int]]:
    """Ids of the labels that are written as each code, by the code and by its name in the target set, in lower case."""
    target = target_of(mapping.target)
    names = {label.code: label.name for label in target.labels()} if target else {}
    found: dict[str, list[int]] = {}
    for pk, code in codes_of(mapping).items():
        for name in {code.casefold(), names.get(code, code).casefold()} - {""}:
            found.setdefault(name, []).append(pk)
    return found
