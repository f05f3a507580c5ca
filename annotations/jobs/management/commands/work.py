import json
import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from annotations.jobs.services.worker import work
from annotations.models import Job


class Command(BaseCommand):
    help = "Run the jobs of one or more queues. On SIGTERM the running job goes back to the queue."
    # The checks would import every page and form, which this process does not serve.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        about = "A queue to work on. Repeat the option for several queues, which take turns. Default: all queues."
        parser.add_argument("--queue", action="append", dest="queues", choices=Job.Queue.values, help=about)
        parser.add_argument("--json", action="store_true", help="Print one JSON object when the worker has stopped.")

    def handle(self, *args: Any, **options: Any) -> None:
        queues = options["queues"] or list(Job.Queue.values)
        began = time.monotonic()
        work(queues)
        if options["json"]:
            self.stdout.write(json.dumps({"queues": queues, "seconds": round(time.monotonic() - began)}))
