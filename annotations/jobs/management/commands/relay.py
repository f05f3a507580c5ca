import signal
from typing import Any

from django.core.management.base import BaseCommand

from annotations.jobs.services.relay import Relay


class Command(BaseCommand):
    help = "Keep the queue honest: ring again for jobs that wait unheard, put back those that lost their worker."
    # The checks would load every page and form into a process that serves none.
    requires_system_checks: list[str] = []

    def handle(self, *args: Any, **options: Any) -> None:
        relay = Relay()
        for signum in (signal.SIGTERM, signal.SIGINT):
            signal.signal(signum, lambda *_: relay.stop())
        relay.run()
