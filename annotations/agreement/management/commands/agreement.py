from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser
from pydantic_core import to_jsonable_python

from annotations.agreement.rules.units import ComparedUnit, Granularity, granularities
from annotations.agreement.selectors.figures import agreement_of, shown_names, table_lines
from annotations.agreement.services.figures import NoteTable, figures_of, named_notes
from annotations.core.access import Can
from annotations.core.commands import Needs, ProjectCommand, entered, progress_bar, write_lines
from annotations.core.services import ServiceError
from annotations.core.tokenizers import KINDS, TOKENIZER_HELP
from annotations.models import Project, User

PER = {"label": "labels", "pair": "pairs", "note": "per_note", "round": "rounds"}
Json = dict[str, Any]


class Command(ProjectCommand):
    help = (
        "Show the agreement of a project's annotators on their submitted, blind annotations: observed agreement, "
        "Krippendorff's alpha with its bootstrap interval, kappas, F1, and the estimated share of missed spans."
    )

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--unit", choices=list(ComparedUnit), default=ComparedUnit.TOKEN)
        parser.add_argument("--granularity", choices=list(Granularity), default=Granularity.SUBCATEGORY)
        about = "Also break the figures down by this. Repeatable."
        parser.add_argument("--per", choices=list(PER), action="append", default=[], help=about)
        parser.add_argument("--tokenizer", default="", choices=["", *KINDS], help=TOKENIZER_HELP)
        about = "Also write the units with each annotator's value to this CSV file, which must not exist."
        parser.add_argument("--table", type=Path, metavar="FILE", help=about)

    def needs_for(self, options: Mapping[str, Any]) -> Needs:
        return Can.EXPORT if options["table"] else Can.READ_NOTES

    def act_in(self, project: Project, actor: User | None, **options: Any) -> Json:
        unit, granularity = ComparedUnit(options["unit"]), Granularity(options["granularity"])
        if granularity not in granularities(unit):
            raise ServiceError("BIO tags need the unit “token” or “marked”.", code="granularity")
        with progress_bar("Computing agreement") as progress:
            found = figures_of(project=project, unit=unit, tokenizer=options["tokenizer"], progress=progress)
        hidden = actor is not None and entered(actor, project, Can.READ_NOTES).unnamed
        names = shown_names(project, found["annotators"], hidden=hidden)
        if options["table"]:
            lines = table_lines(project, unit, granularity, hidden=hidden, tokenizer=options["tokenizer"])
            write_lines(options["table"], lines)
        result: Json = to_jsonable_python(agreement_of(project, found, granularity, names))
        if "note" in options["per"]:
            result["per_note"] = named_notes(project, NoteTable(project, found, granularity)[:])
        self.json_only = [name for per, name in PER.items() if per not in options["per"]]
        return result | {"tokenizer": options["tokenizer"]}
