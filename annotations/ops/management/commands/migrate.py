import io
import json
from typing import Any

from django.core.management.base import CommandError, CommandParser, OutputWrapper
from django.core.management.commands import migrate
from django.db import connections
from django.db.migrations.recorder import MigrationRecorder

from annotations.ops.services.backup import schema_state, too_old


class Command(migrate.Command):
    """Django's command. It refuses a database from before the first release."""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--json", action="store_true", help="Print the applied migrations as one JSON object.")

    def handle(self, *args: Any, **options: Any) -> None:
        if schema_state(using=options["database"]).before_releases:
            raise CommandError(str(too_old(connections[options["database"]].settings_dict["NAME"])))
        if not options["json"]:
            super().handle(*args, **options)
            return
        recorder = MigrationRecorder(connections[options["database"]])
        before = set(recorder.applied_migrations())
        out, self.stdout = self.stdout, OutputWrapper(io.StringIO())
        super().handle(*args, **options)
        after = set(recorder.applied_migrations())
        found = {
            "applied": sorted(".".join(each) for each in after - before),
            "unapplied": sorted(".".join(each) for each in before - after),
        }
        out.write(json.dumps(found))
