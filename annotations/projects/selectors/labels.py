"""Labels for files and pages."""

import json
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db.models import OuterRef
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotations import models
from annotations.core.bulk import in_batches
from annotations.core.labels import UNDERLINES
from annotations.core.spans import definitions
from annotations.projects.selectors.projects import Amount, CappedCount
from annotations.text.attributes import as_lines
from annotations.text.labels import LabelMapping, LabelSetDef, parse_label_set


def labels_of(project: models.Project) -> list[models.Label]:
    """Labels that are not merged, in the project's order, with their categories."""
    labels = models.Label.objects.filter(label_set__project=project, merged_into__isnull=True)
    return list(labels.select_related("category").order_by("position", "id"))


def accepted_labels(project: models.Project) -> tuple[dict[str, str], dict[str, int]]:
    """Label codes by the names and codes that a file may use, and label ids by code.

    The name and code of a merged label stand for the label that it was merged into.
    """
    labels = models.Label.objects.filter(label_set__project=project)
    rows = list(labels.values_list("pk", "code", "name", "merged_into__code"))
    accepted: dict[str, str] = {}
    for _pk, code, name, target in sorted(rows, key=lambda row: row[3] is not None):
        accepted.setdefault(code, target or code)
        accepted.setdefault(name, target or code)
    return accepted, {code: pk for pk, code, _name, target in rows if target is None}


def label_at(project: models.Project, pk: int) -> models.Label:
    """Return a label of the project, also a merged one. Raises Http404."""
    labels = models.Label.objects.select_related("category", "label_set", "merged_into")
    return get_object_or_404(labels, label_set__project=project, pk=pk)


def category_at(project: models.Project, pk: int) -> models.Category:
    """Return a category of the project. Raises Http404."""
    return get_object_or_404(models.Category.objects.select_related("label_set"), label_set__project=project, pk=pk)


# Mappings between the shipped label sets, for scoring a project in the labels of another set.


@cache
def mappings() -> dict[tuple[str, str], LabelMapping]:
    """Every shipped mapping by (from, to)."""
    file = Path(settings.FIXTURES_DIR, "label_sets", "mappings.json")
    return {
        (row["from"], row["to"]): LabelMapping(row["from"], row["to"], row["labels"], row["level"] == "category")
        for row in json.loads(file.read_text(encoding="utf-8"))
    }


@cache
def shipped_set(key: str) -> LabelSetDef:
    """A shipped label set. Raises FileNotFoundError if no set has this key."""
    file = Path(settings.FIXTURES_DIR, "label_sets", f"{key}.json")
    return parse_label_set(json.loads(file.read_text(encoding="utf-8")))


def is_shipped(label: models.Label) -> bool:
    """Whether the label is one of the shipped set that the project began with."""
    try:
        return label.code in {one.code for one in shipped_set(label.label_set.key).labels()}
    except FileNotFoundError:
        return False


def mapped_sets(key: str) -> list[LabelSetDef]:
    """The label sets that the shipped set `key` can be mapped into."""
    return [shipped_set(target) for source, target in mappings() if source == key]


# Labels with their number of spans, for the labels page.


def used_labels(project: models.Project) -> list[tuple[models.Category, int, list[tuple[models.Label, Amount, str]]]]:
    """Categories in order, each with its underline style, which distinguishes it without color, and its labels.

    Labels come with the number of their spans, counted up to CAP, and their attributes as lines of text.
    """
    lines: dict[int, list[tuple[models.Label, Amount, str]]] = defaultdict(list)
    labels = models.Label.objects.filter(label_set__project=project, merged_into__isnull=True)
    for label in labels.annotate(spans_counted=CappedCount(models.Span.objects.filter(label=OuterRef("pk")))):
        lines[label.category_id].append((label, Amount.of(label.spans_counted), as_lines(definitions(label))))
    categories = models.Category.objects.filter(label_set__project=project)
    return [(category, category.position % UNDERLINES, lines[category.pk]) for category in categories]


def merged_labels(project: models.Project) -> list[models.Label]:
    """Labels that were merged into others, with their targets."""
    return list(
        models.Label.objects.filter(label_set__project=project, merged_into__isnull=False)
        .select_related("merged_into", "category")
        .order_by("name", "id")
    )


def frozen_versions(project: models.Project) -> int:
    """Number of frozen gold versions, which a merge of labels doesn't change."""
    return models.GoldVersion.objects.filter(project=project).count()


def seen_of(row: models.Category | models.Label) -> str:
    """A short digest of what a form for the row shows, to notice that somebody else changed the row meanwhile."""
    shown = (
        [row.name, row.hue]
        if isinstance(row, models.Category)
        else [row.name, row.hotkey, row.placeholder, row.description, row.category_id, row.attributes, row.identifier]
    )
    return sha256(json.dumps(shown).encode()).hexdigest()[:16]


# Where a project uses a label, which decides whether the label can be deleted.


BATCH = 1000


def label_uses(label: models.Label) -> list[str]:
    """Say in sentences where the label is used; empty if it can be deleted."""
    return [text for source in (_in_spans, _in_decisions, _in_labels, _in_gold, _in_history) for text in source(label)]


def _in_spans(label: models.Label) -> Iterator[str]:
    spans = models.Span.objects.filter(label=label)
    if count := spans.count():
        notes = spans.values("annotation_set__document").distinct().count()
        yield _("Spans: %(spans)s, in notes: %(notes)s") % {"spans": f"{count:,}", "notes": f"{notes:,}"}


def _in_decisions(label: models.Label) -> Iterator[str]:
    project = label.label_set.project_id
    acts = in_batches(models.BulkAct.objects.filter(project=project).values_list("pk", "rule"), BATCH)
    rows = models.Resolution.objects.filter(document__project=project).values_list("pk", "spans", "heard")
    if (
        models.Decision.objects.filter(label_id=label.pk).exists()
        or models.SuggestedString.objects.filter(label_id=label.pk).exists()
        or models.SuggestedLabel.objects.filter(label_id=label.pk).exists()
        or any(label.pk in (rule.get("label"), rule.get("to")) for batch in acts for _pk, rule in batch)
    ):
        yield _("Suggestions and review decisions")
    if any(_names(row[1:], label.pk) for batch in in_batches(rows, BATCH) for row in batch):
        yield _("Adjudicated locations")


def _in_labels(label: models.Label) -> Iterator[str]:
    if count := models.Label.objects.filter(merged_into=label).count():
        yield ngettext(
            "%(count)s label that was merged into it", "%(count)s labels that were merged into it", count
        ) % {"count": count}


def _in_gold(label: models.Label) -> Iterator[str]:
    rows = models.GoldVersionNote.objects.filter(version__project=label.label_set.project_id)
    found = {
        number
        for batch in in_batches(rows.values_list("pk", "version__number", "spans"), BATCH)
        for _pk, number, spans in batch
        if any(span[2] == label.code for span in spans)
    }
    if found:
        yield _("Gold versions: %(numbers)s") % {"numbers": ", ".join(map(str, sorted(found)))}


def _in_history(label: models.Label) -> Iterator[str]:
    events = models.Event.objects.filter(project_id=label.label_set.project_id, annotation_set_id__isnull=False)
    rows = in_batches(events.values_list("pk", "data"), BATCH)
    if any(_names(data, label.pk) for batch in rows for _pk, data in batch):
        yield _("Changes of annotations that people can still undo")


def _names(value: Any, label: int) -> bool:
    """Whether JSON holds a labeled span with this label: [start, end, label, …] or [span, start, end, label]."""
    if isinstance(value, dict):
        return any(_names(each, label) for each in value.values())
    if not isinstance(value, list):
        return False
    at = 3 if len(value) == 4 and all(isinstance(each, int) for each in value) else 2
    if len(value) > at and value[at] == label and isinstance(value[at], int):
        return True
    return any(_names(each, label) for each in value if isinstance(each, list | dict))
