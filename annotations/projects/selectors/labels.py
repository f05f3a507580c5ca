"""Labels for files and pages."""

from annotations.models import Label, Project


def labels_of(project: Project) -> list[Label]:
    """Labels that are not merged, in the project's order, with their categories."""
    labels = Label.objects.filter(label_set__project=project, merged_into__isnull=True)
    return list(labels.select_related("category").order_by("position", "id"))


def accepted_labels(project: Project) -> tuple[dict[str, str], dict[str, int]]:
    """Label codes by the names and codes that a file may use, and label ids by code.

    The name and code of a merged label stand for the label that it was merged into.
    """
    rows = list(Label.objects.filter(label_set__project=project).select_related("merged_into"))
    accepted: dict[str, str] = {}
    for label in sorted(rows, key=lambda row: row.merged_into_id is not None):
        target = label.merged_into or label
        accepted.setdefault(label.code, target.code)
        accepted.setdefault(label.name, target.code)
    return accepted, {label.code: label.pk for label in rows if label.merged_into_id is None}
