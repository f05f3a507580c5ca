"""Imports for pages and reports."""

from collections.abc import Iterator
from typing import Any

from django.db.models import CharField, F, OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Cast, Concat

from annotations.core.labels import label_rows
from annotations.formats.uima import NAMED_ENTITY
from annotations.models import Category, Document, Import, ImportState, Job, Label, Project

FIRST_NOTES = 20
# The key of an import's job begins with it and ends with the id of the import.
JOB_KEY = "import-"


def imports_of(project: Project) -> QuerySet[Import]:
    """Imports of a project, newest first, with the counts of each report but not its lines.

    `job_number` is None where no job was started: before the start, after a discarded upload, and for commands.
    """
    counts = {f"{name}_count": F(f"report__{name}") for name in ("notes", "spans", "refused_notes", "refused_files")}
    return (
        Import.objects.filter(project=project)
        .select_related("created_by", "stored_file")
        .defer("report")
        .annotate(**counts, job_number=Subquery(_jobs(project).values("number")))
        .order_by("-id")
    )


def _jobs(project: Project) -> QuerySet[Job]:
    """The job of the import in the outer query."""
    return Job.objects.filter(project=project, key=Concat(Value(JOB_KEY), Cast(OuterRef("pk"), CharField())))


def first_notes(row: Import) -> list[Document]:
    """The first notes that an import added, without their texts."""
    return list(Document.objects.filter(imported_by=row).only("id", "name").order_by("id")[:FIRST_NOTES])


def label_groups(project: Project) -> list[tuple[Category, list[Label]]]:
    """The categories of a project, each with its labels."""
    labels: dict[int, list[Label]] = {}
    for label in label_rows(project.pk):
        labels.setdefault(label.category_id, []).append(label)
    return [(one, labels.get(one.pk, [])) for one in Category.objects.filter(label_set__project=project)]


def label_lines(report: dict[str, Any]) -> list[dict[str, Any]]:
    """What an import did with each label that the project didn't have, with its name in the files."""
    return [{"name": name, **line} for name, line in report.get("labels", {}).items()]


def report_lines(report: dict[str, Any]) -> Iterator[list[str]]:
    """Rows of a report, with a header: outcome, file, line, code, reason."""
    yield ["outcome", "file", "line", "code", "reason"]
    for label in label_lines(report):
        target = f" as {label['label']}" if label["label"] else ""
        yield [f"label {label['do']}", "", "", "label", f"“{label['name']}”{target}: {label['spans']} spans"]
    for outcome, key in (("refused", "refused"), ("imported with a warning", "warnings")):
        for problem in report.get(key, []):
            line = "" if problem["line"] is None else str(problem["line"])
            also = f" (and {problem['also']} more)" if problem.get("also") else ""
            yield [outcome, problem["file"] + also, line, problem["code"], problem["message"]]
        if more := report.get(f"{key}_more", 0):
            yield [outcome, "", "", "more", f"{more} more problems are not listed."]


def layers_of(project: Project) -> dict[str, dict[str, str]]:
    """The UIMA layers (`TYPE:FEATURE`) that spans of the project were imported from, with the tags that are no codes.

    Tags are by the code of their label. Of several for one label, that of the latest import counts, there first the one
    that is its code. Named entities are among the layers only if they have such tags.
    """
    done = Import.objects.filter(project=project, state=ImportState.DONE).order_by("pk")
    found: dict[str, dict[str, str]] = {}
    for layers, labels in done.values_list("report__layers", "report__labels"):
        for layer in layers or ():
            # Reports of earlier versions list the layers without tags.
            tags = layers[layer] if isinstance(layers, dict) else {}
            codes = {tag: labels[name]["label"] if labels and name in labels else name for name, tag in tags.items()}
            ordered = sorted(codes, key=lambda tag: (tag == codes[tag], tag))
            found[layer] = found.get(layer, {}) | {codes[tag]: tag for tag in ordered if codes[tag]}
    kept = {layer: {code: tag for code, tag in found[layer].items() if code != tag} for layer in sorted(found)}
    return {layer: tags for layer, tags in kept.items() if tags or not layer.startswith(f"{NAMED_ENTITY}:")}
