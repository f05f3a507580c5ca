import io
import json
from typing import Any

from django.core.management.base import CommandParser, OutputWrapper
from django.core.management.commands import migrate
from django.db import connections
from django.db.migrations.recorder import MigrationRecorder

from annotations.ops.services.schema import earlier_migrations, made_halfway


class Command(migrate.Command):
    """Django's command. A database that only some of the squashed migrations have made gets the others first."""

    def add_arguments(self, parser: CommandParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--json", action="store_true", help="Print the applied migrations as one JSON object.")

    def handle(self, *args: Any, **options: Any) -> None:
        if not options["json"]:
            self._migrate(*args, **options)
            return
        recorder = MigrationRecorder(connections[options["database"]])
        before = set(recorder.applied_migrations())
        out, self.stdout = self.stdout, OutputWrapper(io.StringIO())
        self._migrate(*args, **options)
        after = set(recorder.applied_migrations())
        found = {
            "applied": sorted(".".join(each) for each in after - before),
            "unapplied": sorted(".".join(each) for each in before - after),
        }
        out.write(json.dumps(found))

    def _migrate(self, *args: Any, **options: Any) -> None:
        if made_halfway(using=options["database"]):
            with earlier_migrations():
                super().handle(*args, **options | {"app_label": None, "migration_name": None})
        super().handle(*args, **options)
