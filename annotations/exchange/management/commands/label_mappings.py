from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from django.core.management.base import CommandParser
from django.db import transaction

from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, Needs, find_project, read_rows, write_rows
from annotations.core.errors import ServiceError
from annotations.exchange.selectors import (
    MappingRow,
    codes_of,
    mapping_named,
    mapping_rows,
    mappings_of,
    open_counts,
)
from annotations.exchange.services.label_mappings import add_mapping, change_mapping, delete_mapping
from annotations.formats.files.csv_files import CsvRow
from annotations.models import LabelMapping, Project, User

COLUMNS: Final = ("label", "code", "leave_out", "suggestion")
NEEDED: Final = ("label", "code")
YES, NO = ("yes", "true", "1"), ("", "no", "false", "0")


class Command(JourneyCommand):
    help = (
        "List a project's label mappings, which say how exports write its labels, or show one; add, change or delete "
        "it. In a CSV file, each row has a label's code in the project and the code to write; “yes” in the column "
        "leave_out leaves its spans out. Labels that the file lacks stay as they are."
    )

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="Short name of the project.")
        parser.add_argument("name", metavar="NAME", nargs="?", help="Name of a label mapping.")
        act = parser.add_mutually_exclusive_group()
        act.add_argument(
            "--from", dest="source", metavar="FILE", type=Path,
            help="Read the codes from a CSV file. A mapping that doesn't exist is added.",
        )  # fmt: skip
        act.add_argument("--write", metavar="FILE", type=Path, help="Write the mapping with suggestions to a new file.")
        act.add_argument("--delete", action="store_true", help="Delete the mapping.")
        parser.add_argument("--add", action="store_true", help="Add the mapping, without codes.")
        parser.add_argument(
            "--target", metavar="SET", help="With a new mapping: the key of a shipped label set, such as i2b2-2014."
        )
        parser.add_argument(
            "--suggested", action="store_true", help="Choose the suggested code for each label without a choice."
        )
        parser.add_argument("--rename", metavar="NAME", help="New name of the mapping.")

    def needs_for(self, options: Mapping[str, Any]) -> Needs:
        # As on the page: managers change mappings, and whoever may export sees them.
        return Can.MANAGE if _changes(options) else Can.EXPORT

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        project, name = find_project(options["project"]), options["name"]
        changes = _changes(options)
        if options["target"] is not None and not (options["add"] or options["source"]):
            raise ServiceError("--target can only be used with --add or --from.", code="target")
        if name is None:
            if changes or options["write"]:
                raise ServiceError("Name the label mapping. Without options this command lists them.", code="name")
            missing = open_counts(project)
            return {"mappings": [_item(one, missing[one.pk]) for one in mappings_of(project)]}
        if options["write"]:
            rows = mapping_rows(mapping_named(project, name))
            return {"file": str(options["write"]), "written": write_rows(options["write"], COLUMNS, map(_cells, rows))}
        if options["delete"]:
            mapping = mapping_named(project, name)
            delete_mapping(mapping=mapping, actor=actor)
            return {"deleted": mapping.name}
        with transaction.atomic():
            mapping = self._changed(project, name, actor, options) if changes else mapping_named(project, name)
        return _shown(mapping)

    def _changed(self, project: Project, name: str, actor: User | None, options: dict[str, Any]) -> LabelMapping:
        rows = read_rows(options["source"], NEEDED) if options["source"] else []
        mapping = LabelMapping.objects.filter(project=project, name=name).first()
        if options["add"] or (mapping is None and options["source"]):
            mapping = add_mapping(project=project, name=name, target=options["target"] or "", actor=actor)
        elif mapping is None:
            mapping = mapping_named(project, name)  # raises with the names that exist
        elif options["target"] is not None and options["target"] != mapping.target:
            raise ServiceError(
                f"The label mapping “{mapping.name}” exists, and its label set can't be changed. Add another mapping.",
                code="target",
            )
        codes = _merged(mapping, rows)
        if options["suggested"]:
            for line in mapping_rows(mapping):
                if line.suggestion:
                    codes.setdefault(line.label.pk, line.suggestion)
        new = options["rename"] or mapping.name
        return change_mapping(mapping=mapping, name=new, codes=codes, seen=None, actor=actor)

    def say(self, result: dict[str, Any]) -> str:
        if "file" in result:
            return f"Wrote {result['written']} labels to {result['file']}."
        if "deleted" in result:
            return f"Deleted the label mapping “{result['deleted']}”."
        if "mappings" in result:
            return "\n".join(map(_line, result["mappings"])) or "There are no label mappings."
        return "\n".join([_line(result), *map(_label_line, result["labels"])])


def _changes(options: Mapping[str, Any]) -> bool:
    return any(options[each] for each in ("source", "add", "suggested", "rename", "delete"))


def _merged(mapping: LabelMapping, rows: Sequence[CsvRow]) -> dict[int, str]:
    """The codes of the mapping with those of the rows. Raises ServiceError with the line."""
    labels = {line.label.code: line.label.pk for line in mapping_rows(mapping)}
    codes = codes_of(mapping)
    for row in rows:
        label, leave_out = row.text("label"), row.text("leave_out").lower()
        if label not in labels:
            known = ", ".join(labels)
            raise ServiceError(
                f"Line {row.line}: There is no label “{label[:80]}”. Nothing was changed. Labels: {known}.",
                code="label",
            )
        if leave_out not in YES + NO:
            raise ServiceError(
                f"Line {row.line}: The column “leave_out” must be “yes” or empty. Nothing was changed.",
                code="leave_out",
            )
        codes.pop(labels[label], None)
        if leave_out in YES:
            codes[labels[label]] = ""
        elif row.text("code"):
            codes[labels[label]] = row.text("code")
    return codes


def _item(mapping: LabelMapping, missing: int) -> dict[str, Any]:
    return {"id": mapping.pk, "name": mapping.name, "target": mapping.target, "open": missing}


def _shown(mapping: LabelMapping) -> dict[str, Any]:
    rows = mapping_rows(mapping)
    labels = [
        {"label": row.label.code, "spans": row.spans, "code": row.code, "suggestion": row.suggestion} for row in rows
    ]
    return _item(mapping, sum(row.code is None for row in rows)) | {"labels": labels}


def _cells(row: MappingRow) -> Sequence[object]:
    return row.label.code, row.code or "", "yes" if row.code == "" else "", row.suggestion


def _line(row: dict[str, Any]) -> str:
    target = f" to {row['target']}" if row["target"] else ""
    missing = f"{row['open']} labels have no choice yet" if row["open"] else "exports can use it"
    return f"{row['name']}{target}: {missing}."


def _label_line(row: dict[str, Any]) -> str:
    suggestion = f" (suggested: {row['suggestion']})" if row["suggestion"] else ""
    code = f"no choice{suggestion}" if row["code"] is None else row["code"] or "left out"
    return f"  {row['label']:32} {code}"
