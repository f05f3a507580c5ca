from typing import Any

from django.core.management.base import CommandParser

from annotations.core.commands import JourneyCommand, find_user
from annotations.core.services import ServiceError
from annotations.models import User
from annotations.projects.selectors.providers import configured
from annotations.projects.services.providers.signing_in import link_account


class Command(JourneyCommand):
    help = "Connect an existing account with a person at a provider, so that the person signs in to it there."

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("user", metavar="USER", help="User name of the account.")
        parser.add_argument("provider", metavar="PROVIDER", help="The id of the provider in the settings.")
        about = "What identifies the person there: the claim sub, the NameID, or the attribute of `subject`."
        parser.add_argument("subject", metavar="SUBJECT", help=about)

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        user = find_user(options["user"])
        if options["provider"] not in (known := [one.id for one in configured()]):
            raise ServiceError(
                f"There is no provider “{options['provider']}”. Providers: {', '.join(known) or 'none'}.",
                code="provider",
            )
        link_account(user=user, provider=options["provider"], subject=options["subject"], actor=actor)
        return {"user": user.username, "provider": options["provider"]}
