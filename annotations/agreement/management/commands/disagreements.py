from typing import Any

from django.core.management.base import CommandParser

from annotations.agreement.rules.disagreement import DisagreementKind
from annotations.agreement.rules.units import ComparedUnit
from annotations.agreement.selectors import disagreements
from annotations.agreement.services.comparing import bring_up_to_date
from annotations.core.access import Can
from annotations.core.commands import ProjectCommand, entered, find_label
from annotations.core.services import ServiceError
from annotations.models import CauseKind, Document, Project, User

# Locations that are read from the database together.
BATCH = 500


class Command(ProjectCommand):
    help = (
        "List the locations where annotators disagree, with each annotator's spans and without text. To decide them, "
        "see the command “adjudicate”."
    )
    needs = None

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--kind", choices=list(DisagreementKind), default="", help="How the annotators differ.")
        parser.add_argument("--label", metavar="CODE", help="Only where an annotator used this label.")
        parser.add_argument("--note", metavar="NAME", help="Only in this note.")
        parser.add_argument("--round", type=int, metavar="N", help="Only notes of this round of the guidelines.")
        causes = [*CauseKind.values, disagreements.UNTAGGED]
        parser.add_argument("--cause", choices=causes, default="", help="Only with this cause.")
        parser.add_argument("--unit", choices=list(ComparedUnit), default="", help="Only where such units differ.")
        parser.add_argument("--all-sets", action="store_true", help="Also sets that were seeded or not blind.")

    def act_in(self, project: Project, actor: User | None, **options: Any) -> dict[str, Any]:
        hidden = entered(actor, project, Can.READ_NOTES).unnamed if actor else project.anonymous_adjudication
        filters = _filters(project, options)
        bring_up_to_date(project)
        found = disagreements.differences(project, filters)
        counted = disagreements.counts(found)
        rows = list(found)
        listed = [
            _described(shown)
            for at in range(0, len(rows), BATCH)
            for shown in disagreements.in_context(
                project, rows[at : at + BATCH], everyone=filters.everyone, hidden=hidden
            )
        ]
        return {"total": counted.total, "kinds": counted.kinds, "disagreements": listed}


def _filters(project: Project, options: dict[str, Any]) -> disagreements.Filters:
    note = None
    if options["note"]:
        note = Document.objects.filter(project=project, name=options["note"]).values_list("pk", flat=True).first()
        if note is None:
            raise ServiceError(f"There is no note “{options['note']}” in “{project.slug}”.", code="note")
    known = [each.number for each in disagreements.rounds(project)]
    if options["round"] is not None and options["round"] not in known:
        raise ServiceError(f"There is no round {options['round']}. Rounds: {known[0]} to {known[-1]}.", code="round")
    label = find_label(project, options["label"]).pk if options["label"] else None
    same = {name: options[name] for name in ("kind", "round", "cause", "unit")}
    return disagreements.Filters(label=label, note=note, everyone=options["all_sets"], **same)


def _described(shown: disagreements.DisagreementView) -> dict[str, Any]:
    return {
        "note": shown.sentence.note.name,
        "start": shown.row.start,
        "end": shown.row.end,
        "kinds": shown.kinds,
        "causes": shown.causes,
        "adjudicated": shown.adjudicated,
        "annotators": {
            name: [[span.start, span.end, span.label] for span in spans] for name, spans in shown.spans.items()
        },
    }
