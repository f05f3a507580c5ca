from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Can
from annotations.core.commands import JourneyCommand, find_project
from annotations.core.errors import ServiceError
from annotations.core.requests import uuid_of
from annotations.models import Delivery, User
from annotations.ops.selectors.webhooks.webhooks import delivery_as_dict, delivery_rows, find_webhook
from annotations.ops.services.webhooks.sending import send_now
from annotations.ops.services.webhooks.webhooks import send_again, send_test


class Command(JourneyCommand):
    help = "Send a test to a webhook, or one of its deliveries again, and print the result."
    needs = Can.MANAGE

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        parser.add_argument("webhook", metavar="ID", help="The id that the command webhooks lists.")
        parser.add_argument("--again", metavar="DELIVERY", help="The id of a delivery. Default: send a test.")

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        webhook = find_webhook(find_project(options["project"]), options["webhook"])
        if options["again"]:
            key = uuid_of(options["again"])
            delivery = Delivery.objects.filter(webhook=webhook, key=key).first() if key else None
            if delivery is None:
                raise ServiceError(f"This webhook has no delivery “{options['again']}”.", code="delivery")
            send_again(delivery=delivery, actor=actor)
        else:
            delivery = send_test(webhook=webhook, actor=actor)
        send_now(delivery.pk)  # unless the relay sends it at this moment
        delivery.refresh_from_db()
        (row,) = delivery_rows([delivery])
        return delivery_as_dict(row)

    def say(self, result: dict[str, Any]) -> str:
        how = f" Status {result['status']}." if result["status"] else ""
        why = f" {result['reason']}" if result["reason"] else ""
        return f"Delivery {result['delivery']}: {result['state']}.{how}{why}"
