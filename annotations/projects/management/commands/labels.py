from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from django.core.management.base import CommandParser
from django.db import transaction

from annotations.core.access import Can
from annotations.core.commands import Needs, ProjectCommand, find_label, read_rows, write_rows
from annotations.core.forms import valid
from annotations.core.services import ServiceError
from annotations.core.spans import definitions
from annotations.formats.files.csv_files import CsvRow
from annotations.models import Category, Label, LabelSet, Project, Span, User
from annotations.projects.forms.labels import AddLabelForm, EditLabelForm
from annotations.projects.services.categories import move_label
from annotations.projects.services.labels import EDITABLE, add_label, current, delete_label, update_label
from annotations.text.attributes import as_data, as_lines

COLUMNS: Final = ("code", "name", "category", "hotkey", "description", "placeholder", "attributes", "identifier")
NEEDED: Final = ("code", "name")


class Command(ProjectCommand):
    help = (
        "List a project's labels, or add and change them by a CSV file. A row names a label by its code; a row without "
        "a code adds a label, unless a label has its name. Columns that the file lacks stay as they are. Write the "
        "labels with --write, edit the file, and read it with --from. See also rename_label and merge_labels."
    )

    def arguments(self, parser: CommandParser) -> None:
        act = parser.add_mutually_exclusive_group()
        act.add_argument(
            "--from", dest="source", metavar="FILE", type=Path, help=f"CSV with columns from {', '.join(COLUMNS)}."
        )
        act.add_argument("--write", metavar="FILE", type=Path, help="Write the labels to a new file.")
        act.add_argument("--delete", metavar="CODE", help="Delete a label that nothing uses.")
        act.add_argument("--move", metavar="CODE", help="Move a label to --position in its category.")
        parser.add_argument("--position", type=int, help="With --move: new place in the category, counted from 1.")
        parser.add_argument("--preview", action="store_true", help="With --from: only say what would change.")

    def needs_for(self, options: Mapping[str, Any]) -> Needs:
        changes = options["source"] or options["delete"] or options["move"]
        return Can.MANAGE if changes else Can.SEE_PROJECT

    def act_in(self, project: Project, actor: User | None, **options: Any) -> dict[str, Any]:
        if options["preview"] and not options["source"]:
            raise ServiceError("--preview can only be used with --from.", code="preview")
        position = options["position"]
        if bool(options["move"]) != (position is not None) or (position is not None and position < 1):
            raise ServiceError("Use --move CODE together with --position N, from 1.", code="position")
        if options["write"]:
            return {"file": str(options["write"]), "written": write_rows(options["write"], COLUMNS, _cells(project))}
        changed: dict[str, Any] = {}
        with transaction.atomic():
            if options["source"]:
                changed = _read(project, read_rows(options["source"], NEEDED), actor)
            if options["delete"]:
                label = find_label(project, options["delete"])
                delete_label(label=label, actor=actor)
                changed = {"deleted": label.code}
            if options["move"]:
                label = find_label(project, options["move"])
                move_label(label=label, position=position - 1, actor=actor)
            found = changed | {"preview": options["preview"], "labels": [_described(row) for row in _rows(project)]}
            transaction.set_rollback(options["preview"])
        return found


# ── Reading ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _rows(project: Project) -> Iterable[Label]:
    rows = Label.objects.filter(label_set__project=project).select_related("category", "merged_into")
    return rows.order_by("category__position", "position", "pk")


def _columns(label: Label) -> dict[str, Any]:
    return {column: getattr(label, column) for column in COLUMNS} | {"category": label.category.code}


def _described(label: Label) -> dict[str, Any]:
    return _columns(label) | {
        "attributes": as_data(definitions(label)),
        "merged_into": label.merged_into.code if label.merged_into else None,
        "used": Span.objects.filter(label=label).exists(),
    }


def _cells(project: Project) -> Iterable[Sequence[object]]:
    for label in _rows(project):
        if label.merged_into is None:
            yield [*(_columns(label) | {"attributes": as_lines(definitions(label))}).values()]


# ── Changing ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _read(project: Project, rows: Sequence[CsvRow], actor: User | None) -> dict[str, Any]:
    """Add and change the labels of the rows: all of them, or none. Raises ServiceError with the line."""
    label_set = LabelSet.objects.get(project=project)
    done: dict[str, list[str]] = {"added": [], "changed": [], "unchanged": []}
    for row in rows:
        try:
            what, code = _apply(label_set, row, actor)
        except ServiceError as error:
            raise ServiceError(f"Line {row.line}: {error} Nothing was changed.", code=error.code) from error
        done[what].append(code)
    return {"added": done["added"], "changed": done["changed"], "unchanged": len(done["unchanged"])}


def _apply(label_set: LabelSet, row: CsvRow, actor: User | None) -> tuple[str, str]:
    """Add or change the label of a row. Return what was done, and its code."""
    labels = Label.objects.filter(label_set=label_set, merged_into__isnull=True).select_related("category", "label_set")
    given: dict[str, Any] = {field: row.text(field) for field in EDITABLE if field in row.cells}
    if row.text("category"):
        given["category"] = _category(label_set, row.text("category")).pk
    code = row.text("code")
    label = labels.filter(code=code).first() if code else labels.filter(name=row.text("name")).first()
    if label is None:
        return "added", _add(label_set, code, given, actor).code
    wanted = valid(EditLabelForm(current(label) | given, label_set=label_set))
    wanted.pop("seen")
    before = _described(label)
    update_label(label=label, actor=actor, **wanted)
    return ("unchanged" if _described(label) == before else "changed"), label.code


def _add(label_set: LabelSet, code: str, given: dict[str, Any], actor: User | None) -> Label:
    if code:
        known = ", ".join(label_set.labels.filter(merged_into__isnull=True).values_list("code", flat=True))
        raise ServiceError(
            f"There is no label “{code}”. To add a label, leave its code empty: it is made from the name. "
            f"Labels: {known}.",
            code="label",
        )
    if given.pop("placeholder", ""):
        raise ServiceError(
            "A new label gets a placeholder from its name. Leave the placeholder empty, and change it afterwards.",
            code="placeholder",
        )
    wanted = valid(AddLabelForm(given, label_set=label_set))
    return add_label(label_set=label_set, actor=actor, **wanted)


def _category(label_set: LabelSet, name: str) -> Category:
    """Find a category by its code or its name. Raises ServiceError `category`, which lists the categories."""
    rows = list(label_set.categories.all())
    for row in rows:
        if name in (row.code, row.name):
            return row
    known = ", ".join(row.code for row in rows)
    raise ServiceError(f"There is no category “{name[:80]}”. Categories: {known}.", code="category")
