from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import Needs, ProjectCommand, add_several, check_shown, progress_bar
from annotations.core.services import ServiceError
from annotations.core.tokenizers import KINDS
from annotations.exchange.selectors import named_losses
from annotations.exchange.services.exporting import export_to_path
from annotations.exchange.services.label_mappings import labels_in_words
from annotations.exchange.services.writing import ExportOptions
from annotations.formats import FORMATS
from annotations.gold.services.splitting import LAYOUTS
from annotations.models import Project, User
from annotations.notes.selectors.notes import PAGE
from annotations.ops.services.archives.reading import WHOLE, check_alone, export_to


class Command(ProjectCommand):
    help = "Export annotation sets to a new or empty folder, or to a .zip. Lists every span that the format can't hold."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("out", metavar="OUT", type=Path, help="New or empty folder, or a .zip to create.")
        about = "Format of the files; “archive” writes the whole project to a .zip."
        parser.add_argument("--format", required=True, choices=[*FORMATS, WHOLE], help=about)
        about = "Annotations: gold[:VERSION], annotator:NAME or run:NAME_OR_ID. Not for archives."
        parser.add_argument("--set", default="", metavar="WHICH", help=about)
        about = "One folder per split, or only one split."
        parser.add_argument("--split", default="", choices=["", *LAYOUTS], help=about)
        about = "CoNLL: an empty row after each sentence, not after each line."
        parser.add_argument("--sentences", action="store_true", help=about)
        about = "In brat and CoNLL, insert a space where a span is attached to other text, and write an offset map."
        parser.add_argument("--spaces", action="store_true", help=about)
        about = "Tokenizer for the language of each note, for CoNLL and --spaces. Without it, the default rule."
        parser.add_argument("--tokenizer", default="", choices=["", *KINDS], help=about)
        about = "Layer of the spans in INCEpTION and feature of the label, such as webanno.custom.PHI:kind."
        parser.add_argument("--layer", default="", metavar="TYPE:FEATURE", help=about)
        add_several(parser, "--note", "NAME", f"Only this note; at most {PAGE}.")
        parser.add_argument("--mapping", default="", metavar="NAME", help="Write labels as in this label mapping.")
        mapped = "Write this code for a label of the project. Wins over --mapping."
        add_several(parser, "--map-label", "LABEL=CODE", mapped)
        skipped = "Leave out the spans of a label of the project. Wins over --mapping."
        add_several(parser, "--skip-label", "LABEL", skipped)

    def needs_for(self, options: Mapping[str, Any]) -> Needs:
        return Can.ARCHIVE if options["format"] == WHOLE else Can.EXPORT

    def act_in(self, project: Project, actor: User | None, **options: Any) -> dict[str, Any]:
        if options["format"] == WHOLE:
            named = ["set", "split", "sentences", "spaces", "tokenizer", "layer", "note"]
            named += ["mapping", "map_label", "skip_label"]
            check_alone({f"--{name.replace('_', '-')}": options[name] for name in named})
            return export_to(project=project, out=options["out"], actor=actor)
        if not options["set"]:
            raise ServiceError("Say which annotations to export: --set gold, for example.", code="set")
        check_shown(actor, project, spec=options["set"])
        labels = labels_in_words(
            project, mapping=options["mapping"], mapped=options["map_label"], skipped=options["skip_label"]
        )
        writing = ExportOptions(options["sentences"], options["spaces"], options["tokenizer"], options["layer"])
        asked = {"set_spec": options["set"], "format": options["format"], "split": options["split"]}
        asked |= {"writing": writing, "labels": labels, "out": options["out"].absolute()}
        asked["notes"] = _ids_of(project, options["note"])
        with progress_bar("Exporting") as progress:
            report = export_to_path(project=project, actor=actor, progress=progress, **asked)
        return report | {"losses": named_losses(project, report["losses"])}


def _ids_of(project: Project, names: list[str]) -> tuple[int, ...]:
    """The ids of the notes with these names. Raises ServiceError with the names that the project doesn't have."""
    found = dict(project.documents.filter(name__in=names).values_list("name", "pk"))
    if missing := ", ".join(f"“{name}”" for name in names if name not in found):
        raise ServiceError(f"There is no note {missing} in “{project.slug}”.", code="notes")
    return tuple(found.values())
