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
    labels = Label.objects.filter(label_set__project=project)
    rows = list(labels.values_list("pk", "code", "name", "merged_into__code"))
    accepted: dict[str, str] = {}
    for _pk, code, name, target in sorted(rows, key=lambda row: row[3] is not None):
        accepted.setdefault(code, target or code)
        accepted.setdefault(name, target or code)
    return accepted, {code: pk for pk, code, _name, target in rows if target is None}
