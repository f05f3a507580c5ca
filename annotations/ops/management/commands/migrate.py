from typing import Any

from django.core.management.commands import migrate

from annotations.ops.services.schema import earlier_migrations, made_halfway


class Command(migrate.Command):
    """Django's command. A database that only some of the squashed migrations have made gets the others first."""

    def handle(self, *args: Any, **options: Any) -> None:
        if made_halfway(using=options["database"]):
            with earlier_migrations():
                super().handle(*args, **options | {"app_label": None, "migration_name": None})
        super().handle(*args, **options)
