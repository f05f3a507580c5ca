from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, find_project
from annotations.core.errors import ServiceError
from annotations.models import User
from annotations.release.management.commands.leak_findings import wait_until_prepared
from annotations.release.selectors.audits import Leak, audit_numbered, leak_marks
from annotations.release.services.audits.deciding import DECISIONS
from annotations.release.services.audits.showing import show_leaks
from annotations.text.numbers import MAX_ID


class Command(JourneyCommand):
    help = (
        "List the leaks that the auditors of a release found, each in its sentence of the original note, or decide "
        "about one. The audit log records whose notes were read."
    )
    needs = Can.RELEASE

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="Short name of the project.")
        parser.add_argument("release", metavar="NUMBER", type=int, help="Number of the release.")
        parser.add_argument(
            "--decide", choices=list(DECISIONS),
            help="Replace the leak in the release, accept the risk, dismiss it as no identifier, or undo a decision.",
        )  # fmt: skip
        parser.add_argument("--leak", type=int, metavar="ID", help="With --decide: the leak, by its ID.")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        project = find_project(options["project"])
        plan = audit_numbered(project, options["release"])
        if (options["decide"] is None) != (options["leak"] is None):
            raise ServiceError("To decide about a leak, use --decide together with --leak ID.", code="decide")
        marks = leak_marks(plan).order_by("note__position", "start", "pk")
        if options["decide"]:
            rows = marks.select_related("note__plan__release__project", "note__note")
            mark = rows.filter(pk=options["leak"]).first() if 0 < options["leak"] <= MAX_ID else None
            if mark is None:
                raise ServiceError(f"The audit found no leak {options['leak']}.", code="leak")
            DECISIONS[options["decide"]](mark=mark, actor=actor)
            wait_until_prepared(plan.release, tell=None if options["json"] else self.stderr)
        leaks = show_leaks(project=project, marks=list(marks.all()), actor=actor)
        plan.refresh_from_db()
        return {"release": plan.release.number, "state": plan.state, "leaks": [_described(leak) for leak in leaks]}

    def say(self, result: dict[str, Any]) -> str:
        return "\n".join(map(_line, result["leaks"])) or "No leaks were found."


def _described(leak: Leak) -> dict[str, Any]:
    return {
        "id": leak.mark.pk, "note": leak.name, "start": leak.mark.start, "end": leak.mark.end,
        "label": leak.mark.label, "before": leak.before, "marked": leak.marked, "after": leak.after,
        "decision": leak.decision, "decided_by": leak.decided_by or None,
    }  # fmt: skip


def _line(row: dict[str, Any]) -> str:
    decision = f"  {row['decision']} by {row['decided_by'] or 'the operator'}" if row["decision"] else ""
    sentence = " ".join(f"{row['before']}»{row['marked']}«{row['after']}".split())
    return f"{row['id']}  {row['note']}  {row['label']}: {sentence}{decision}"
