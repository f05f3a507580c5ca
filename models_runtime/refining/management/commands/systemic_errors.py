from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, find_project
from annotations.core.errors import ServiceError
from annotations.core.events import record_reads
from annotations.models import Project, User
from models_runtime.refining.selectors.injecting import systemic_errors
from models_runtime.refining.services.injecting.systemic import accept_cluster, clusters_of, remove_systemic, rule_of


class Command(JourneyCommand):
    help = (
        "List clusters of similar rejected suggestions, and accept one under a name, so that inject_errors can make "
        "errors like them."
    )
    needs = Can.MANAGE

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        chosen = parser.add_mutually_exclusive_group()
        chosen.add_argument("--accept", type=int, metavar="N", help="Number of the cluster to accept. Needs --name.")
        chosen.add_argument("--remove", metavar="NAME", help="The accepted systemic error to remove.")
        parser.add_argument("--name", default="", help="Name of the accepted cluster: a-z, 0-9 and hyphens.")
        parser.add_argument("--seed", type=int, default=7, metavar="N", help="Seed of the clusters. Default: 7.")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        project = find_project(options["project"])
        if options["remove"]:
            remove_systemic(project=project, name=options["remove"], actor=actor)
            return {"removed": options["remove"]} | _accepted(project)
        if options["accept"] is not None:
            if not options["name"]:
                raise ServiceError("Give the cluster a name with --name NAME.", code="name")
            row = accept_cluster(
                project=project, name=options["name"], number=options["accept"], seed=options["seed"], actor=actor
            )
            return {"rule": rule_of(row), "label": row.label, "examples": row.examples.count()} | _accepted(project)
        found = clusters_of(project, options["seed"])
        # The strings of a cluster are text of the note.
        notes = (example.note for one in found for example in one.examples) if actor else ()
        record_reads(actor=actor, project_id=project.pk, notes=notes, what="systemic errors")
        return {"clusters": [one.as_json() for one in found]} | _accepted(project)

    def say(self, result: dict[str, Any]) -> str:
        if "removed" in result:
            return f"Removed: {result['removed']}"
        if "rule" in result:
            return f"{result['rule']}: {result['examples']} examples with the label {result['label']}"
        lines = [
            f"{one['number']}. {one['label']}, {one['size']} rejected: "
            + ", ".join(f"“{row['string']}” ({row['count']})" for row in one["strings"])
            + (f"; near: {', '.join(one['words'])}" if one["words"] else "")
            for one in result["clusters"]
        ] or ["There are no clusters: fewer than two similar suggestions were rejected."]
        lines += [f"Accepted: {one['rule']} ({one['label']}, {one['examples']} examples)" for one in result["accepted"]]
        return "\n".join(lines)


def _accepted(project: Project) -> dict[str, Any]:
    rows = systemic_errors(project)
    return {"accepted": [{"rule": rule_of(row), "label": row.label, "examples": row.examples.count()} for row in rows]}
