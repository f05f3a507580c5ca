from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from deidreview.run import supervisor


class Command(BaseCommand):
    help = (
        "Set everything up and serve the app: web server, worker, relay and a private Redis, until Ctrl-C. "
        "HOST, PORT, DEIDREVIEW_DATA and other environment variables say how; see docs/operations.md."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--json", action="store_true", help="Print the address as one JSON object when the app is ready."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        raise SystemExit(supervisor.main(["--json"] if options["json"] else []))
