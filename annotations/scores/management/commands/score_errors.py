from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import Needs, write_lines
from annotations.core.errors import ServiceError
from annotations.models import CauseKind, Document, User
from annotations.scores.management.asking import ScoreCommand, asked_score
from annotations.scores.rules.causes import ErrorId
from annotations.scores.rules.errors import ErrorType
from annotations.scores.services.causes import causes_of_errors
from annotations.scores.services.error_list import UNTAGGED, ErrorFilters, ListedErrors, export_errors
from annotations.scores.services.scoring import Error, score, score_errors


class Command(ScoreCommand):
    help = (
        "List the errors of a score with their causes and without text, or write them with their sentences to a CSV "
        "file. See also the command error_cause."
    )

    def arguments(self, parser: CommandParser) -> None:
        super().arguments(parser)
        parser.add_argument("--kind", choices=list(ErrorType), default="", help="Only errors of this kind.")
        parser.add_argument("--label", default="", metavar="CODE", help="Only with this gold or predicted label.")
        parser.add_argument("--category", default="", metavar="CODE", help="Only of this category.")
        parser.add_argument(
            "--cause", choices=[*CauseKind.values, UNTAGGED], default="", help="Only with this cause, or with none."
        )
        parser.add_argument("--note", metavar="NAME", help="Only in this note.")
        parser.add_argument("--write", type=Path, metavar="FILE", help="Write a new CSV file with the sentences.")

    def needs_for(self, options: Mapping[str, Any]) -> Needs:
        return Can.EXPORT if options["write"] else Can.READ_NOTES

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        wanted = asked_score(actor, options)
        project, note = wanted.reference.project, None
        if options["note"] is not None:
            note = Document.objects.filter(project=project, name=options["note"]).values_list("pk", flat=True).first()
            if note is None:
                raise ServiceError(f"There is no note “{options['note'][:80]}” in “{project.slug}”.", code="note")
        chosen = ErrorFilters(options["kind"], options["label"], "", "", options["category"], options["cause"], note)
        found = score(wanted)
        listed = ListedErrors(wanted, found.table, score_errors(wanted, found), chosen, causes_of_errors(wanted))
        if options["write"]:
            lines, _name = export_errors(project=project, actor=actor, listed=listed)
            return {"file": str(options["write"]), "written": write_lines(options["write"], lines) - 1}
        rows = listed.rows
        names = dict(Document.objects.filter(pk__in={row[0] for row in rows}).values_list("pk", "name"))
        return {
            "author": wanted.author.name,
            "total": len(rows),
            "errors": [_described(row, names[row[0]], listed) for row in rows if row[0] in names],
        }

    def say(self, result: dict[str, Any]) -> str:
        if "file" in result:
            return f"Wrote {result['written']} errors to {result['file']}."
        return "\n".join([f"Errors: {result['total']}.", *map(_line, result["errors"])])


def _described(row: Error, name: str, listed: ListedErrors) -> dict[str, Any]:
    one = ErrorId.of(row)
    gold, predicted = ({"start": at[0], "end": at[1], "label": at[2]} if at else None for at in row[2:])
    causes = sorted(listed.causes.get(one, ()))
    return {
        "error": str(one), "note": name, "kind": str(row[1]), "gold": gold, "predicted": predicted, "causes": causes,
    }  # fmt: skip


def _line(row: dict[str, Any]) -> str:
    return f"{row['error']}  {row['note']}  {row['kind']}  {' '.join(row['causes']) or 'no cause'}"
