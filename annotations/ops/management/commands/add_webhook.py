from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, find_project
from annotations.models import User
from annotations.ops.selectors.webhooks.kinds import KINDS
from annotations.ops.selectors.webhooks.webhooks import as_dict
from annotations.ops.services.webhooks.webhooks import add_webhook


class Command(JourneyCommand):
    help = "Add a webhook to a project, and print its secret. The secret can't be shown again."
    needs = Can.MANAGE

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        parser.add_argument("url", metavar="URL", help="Its host must be listed in DEIDREVIEW_WEBHOOK_HOSTS.")
        parser.add_argument(
            "--event", dest="kinds", action="append", choices=list(KINDS), help="May be repeated. Default: all events."
        )

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        made = add_webhook(
            project=find_project(options["project"]),
            url=options["url"],
            kinds=options["kinds"] or list(KINDS),
            actor=actor,
        )
        return as_dict(made.webhook) | {"secret": made.secret}

    def say(self, result: dict[str, Any]) -> str:
        return f"Webhook {result['webhook']} was added. Its secret, which is shown only now: {result['secret']}"
