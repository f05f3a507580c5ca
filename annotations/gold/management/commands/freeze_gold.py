from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import ProjectCommand
from annotations.gold.services.making import freeze
from annotations.gold.services.splitting import begin_round, held_out
from annotations.models import Project, User


class Command(ProjectCommand):
    help = "Freeze the gold standard as its next version. If nothing has changed, print the last version."
    needs = Can.MAKE_GOLD

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--reason", default="", help="Reason, shown in the list of versions.")
        about = "Begin a round of the loop with the notes of earlier hold-outs. In the first round, hold out PERCENT."
        parser.add_argument("--hold-out", type=int, metavar="PERCENT", help=about)

    def act_in(self, project: Project, actor: User | None, **options: Any) -> dict[str, Any]:
        reason = options["reason"]
        if options["hold_out"] is None:
            version, new = freeze(project=project, actor=actor, reason=reason)
        else:
            begun = begin_round(project=project, actor=actor, share=options["hold_out"], reason=reason)
            version, new = begun.version, begun.made
        result = {
            "version": version.number,
            "new": new,
            "hash": version.content_hash,
            "notes": version.note_count,
            "spans": version.span_count,
        }
        return result if options["hold_out"] is None else result | {"held_out": held_out(version)}
