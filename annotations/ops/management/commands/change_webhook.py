from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, find_project
from annotations.core.errors import ServiceError
from annotations.models import User
from annotations.ops.selectors.webhooks.kinds import KINDS
from annotations.ops.selectors.webhooks.webhooks import as_dict, find_webhook
from annotations.ops.services.webhooks.webhooks import change_webhook, renew_secret, switch


class Command(JourneyCommand):
    help = "Change a webhook: its address, its events, on or off, or its secret."
    needs = Can.MANAGE

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        parser.add_argument("webhook", metavar="ID", help="The id that the command webhooks lists.")
        parser.add_argument("--url", help="The new address.")
        parser.add_argument("--event", dest="kinds", action="append", choices=list(KINDS), help="May be repeated.")
        state = parser.add_mutually_exclusive_group()
        state.add_argument("--on", action="store_true", help="Switch the webhook on.")
        state.add_argument("--off", action="store_true", help="Switch the webhook off.")
        parser.add_argument("--new-secret", action="store_true", help="Replace the secret, and print the new one.")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        webhook = find_webhook(find_project(options["project"]), options["webhook"])
        if not any(options[word] for word in ("url", "kinds", "on", "off", "new_secret")):
            raise ServiceError("Nothing to change. Use --url, --event, --on, --off or --new-secret.", code="nothing")
        if options["url"] or options["kinds"]:
            change_webhook(
                webhook=webhook, url=options["url"] or webhook.url, kinds=options["kinds"] or webhook.kinds, actor=actor
            )
        if options["on"] or options["off"]:
            switch(webhook=webhook, on=options["on"], actor=actor)
        secret = renew_secret(webhook=webhook, actor=actor) if options["new_secret"] else None
        webhook.refresh_from_db()
        return as_dict(webhook) | ({"secret": secret} if secret else {})

    def say(self, result: dict[str, Any]) -> str:
        said = f"Webhook {result['webhook']} was changed. It is {result['state']}: {result['url']}"
        return said + (f"\nIts new secret, which is shown only now: {result['secret']}" if "secret" in result else "")
