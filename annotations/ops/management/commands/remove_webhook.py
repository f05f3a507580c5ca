from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, find_project
from annotations.models import User
from annotations.ops.selectors.webhooks.webhooks import find_webhook
from annotations.ops.services.webhooks.webhooks import remove_webhook


class Command(JourneyCommand):
    help = "Remove a webhook with its log."
    needs = Can.MANAGE

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        parser.add_argument("webhook", metavar="ID", help="The id that the command webhooks lists.")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        webhook = find_webhook(find_project(options["project"]), options["webhook"])
        number = webhook.pk
        remove_webhook(webhook=webhook, actor=actor)
        return {"webhook": number, "removed": True}

    def say(self, result: dict[str, Any]) -> str:
        return f"Webhook {result['webhook']} was removed."
