from typing import Any

from django.core.management.base import CommandParser

from annotations.core.commands import JourneyCommand, find_project
from annotations.models import User
from annotations.release.services.policies import missing_labels, policies_of


class Command(JourneyCommand):
    help = "List the policies of a project for --policy, with what each does with every label."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT", help="Short name of the project.")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        project = find_project(options["project"])
        return {
            "policies": [
                {
                    "policy": policy.slug,
                    "version": policy.version,
                    "name": policy.name,
                    "actions": {code: rule["action"] for code, rule in policy.rules.items()},
                    "unmapped": missing_labels(project, policy.rules),
                }
                for policy in policies_of(project)
            ]
        }

    def say(self, result: dict[str, Any]) -> str:
        lines = []
        for policy in result["policies"]:
            saved = f"version {policy['version']}" if policy["version"] else "as shipped"
            lines.append(f"{policy['policy']}: {policy['name']} ({saved})")
            if policy["unmapped"]:
                lines.append(f"  Labels without a rule: {', '.join(policy['unmapped'])}")
        return "\n".join(lines)
