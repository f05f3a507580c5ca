"""Reading the database as it was at one moment, while others go on writing.

A transaction of its own on a connection of its own: progress is written on the default connection meanwhile, and no
lock is held. On SQLite a transaction that only reads sees one moment of the write-ahead log.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from django.db import DEFAULT_DB_ALIAS, connections, transaction

ALIAS: Final = "snapshot"


@contextmanager
def snapshot() -> Iterator[str]:
    """Yield the alias of a connection on which everything is as it was at the beginning of the block."""
    own = connections.create_connection(DEFAULT_DB_ALIAS)
    own.alias = ALIAS
    own.ensure_connection()
    # SQLite: a transaction that begins as a writing one would keep all others from writing.
    setattr(own, "transaction_mode", None)  # noqa: B010 - an attribute of the SQLite engine only
    connections[ALIAS] = own
    try:
        with transaction.atomic(using=ALIAS):
            if own.vendor == "postgresql":
                with own.cursor() as cursor:
                    cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield ALIAS
    finally:
        own.close()
        del connections[ALIAS]
