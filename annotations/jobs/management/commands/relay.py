import json
import signal
import time
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from annotations.jobs.services.relay import Relay


class Command(BaseCommand):
    help = "Run the relay: repeat lost notifications of waiting jobs, and put back jobs that lost their worker."
    # The checks would import every page and form, which this process does not serve.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="Print one JSON object when the relay has stopped.")

    def handle(self, *args: Any, **options: Any) -> None:
        relay = Relay()
        for signum in (signal.SIGTERM, signal.SIGINT):
            signal.signal(signum, lambda *_: relay.stop())
        began = time.monotonic()
        relay.run()
        if options["json"]:
            self.stdout.write(json.dumps({"seconds": round(time.monotonic() - began)}))
