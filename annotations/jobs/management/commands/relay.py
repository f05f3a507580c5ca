import signal
from typing import Any

from django.core.management.base import BaseCommand

from annotations.jobs.services.relay import Relay


class Command(BaseCommand):
    help = "Run the relay: repeat lost notifications of waiting jobs, and put back jobs that lost their worker."
    # The checks would import every page and form, which this process does not serve.
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        relay = Relay()
        for signum in (signal.SIGTERM, signal.SIGINT):
            signal.signal(signum, lambda *_: relay.stop())
        relay.run()
