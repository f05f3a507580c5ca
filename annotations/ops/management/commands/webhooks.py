from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, find_project
from annotations.models import User, Webhook
from annotations.ops.selectors.webhooks.webhooks import as_dict, deliveries_of, delivery_as_dict, delivery_rows

LAST = 20


class Command(JourneyCommand):
    help = "List the webhooks of a project, each with its last deliveries."
    needs = Can.MANAGE

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        project = find_project(options["project"])
        rows = [
            as_dict(webhook)
            | {"deliveries": [delivery_as_dict(row) for row in delivery_rows(deliveries_of(webhook)[:LAST])]}
            for webhook in Webhook.objects.filter(project=project)
        ]
        return {"project": project.slug, "webhooks": rows}

    def say(self, result: dict[str, Any]) -> str:
        lines = []
        for row in result["webhooks"]:
            lines.append(f"{row['webhook']}  {row['state']:7}  {row['url']}  ({', '.join(row['events'])})")
            for sent in row["deliveries"]:
                how = f"status {sent['status']}" if sent["status"] else sent["reason"] or ""
                lines.append(
                    f"    {sent['at']}  {sent['event']:14}  {sent['state']:9}  {sent['delivery']}  {how}".rstrip()
                )
        return "\n".join(lines) or "This project has no webhooks."
