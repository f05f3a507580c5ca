import json
import os
from typing import Any

from django.conf import settings
from django.core.checks import run_checks
from django.core.management.base import BaseCommand, CommandError, CommandParser

from annotations.core.services import ServiceError
from annotations.installation import PROGRAM
from annotations.ops.management.commands.load_demo import PASSWORD, PEOPLE
from deidreview import preparing

DEMO_SLUG = "demo"


class Command(BaseCommand):
    help = "Prepare a start: back up and migrate the database, collect static files, load the demo if it is enabled."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        about = "Refuse demo passwords, because other machines can reach deidreview."
        parser.add_argument("--public", action="store_true", help=about)
        parser.add_argument("--json", action="store_true", help="Print what was done as one JSON object.")
        about = "Write the greeting for the user to this file descriptor."
        parser.add_argument("--greeting-fd", type=int, metavar="N", help=about)

    def handle(self, *args: Any, **options: Any) -> None:
        self._json = options["json"]
        self._done: list[str] = []
        for found in run_checks(tags=["start"]):
            self.stderr.write(f"deidreview: {found.msg} {found.hint}")
        try:
            with preparing.alone(say=self._say):
                preparing.prepare_database(say=self._say)
                preparing.collect_static(say=self._say)
                if settings.DEMO:
                    preparing.load_demo(slug=DEMO_SLUG, say=self._say)
            if options["public"]:
                preparing.refuse_public_passwords(names=list(PEOPLE), password=PASSWORD)
        except ServiceError as error:
            if self._json:
                self.stdout.write(json.dumps({"error": str(error), "code": error.code}, ensure_ascii=False))
            raise CommandError(str(error)) from error
        if options["greeting_fd"] is not None:
            os.write(options["greeting_fd"], self._greeting().encode())
        if self._json:
            result = {"done": self._done, "greeting": self._greeting()}
            self.stdout.write(json.dumps(result, ensure_ascii=False))

    def _say(self, line: str) -> None:
        self._done.append(line)
        if not self._json:
            self.stdout.write(line)
            self.stdout.flush()

    def _greeting(self) -> str:
        if settings.DEMO:
            return f"Demo accounts: {', '.join(PEOPLE)}. Password of each account: {PASSWORD}"
        if preparing.has_people():
            return ""
        if settings.SIGN_IN:
            return f"There is no administrator yet. Create the account with: {PROGRAM} createsuperuser"
        return f"Nobody can sign in yet. Create the first account with: {PROGRAM} createsuperuser"
