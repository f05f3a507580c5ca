from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from annotations.jobs.services.worker import work
from annotations.models import Job


class Command(BaseCommand):
    help = "Do the work that waits on one or more queues. SIGTERM gives back what is in hand."
    # The checks would load every page and form into a process that serves none.
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--queue",
            action="append",
            dest="queues",
            choices=Job.Queue.values,
            help="a queue to work on; may be given more than once, each has its turn. Default: all of them.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        work(options["queues"] or Job.Queue.values)
