"""Sessions in the database, as Django keeps them, but read by a query whose SQL is not built anew for each request."""

import json
from functools import cache, lru_cache
from typing import Any

from django.contrib.sessions.backends import db
from django.contrib.sessions.models import Session
from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.utils import timezone


class SessionStore(db.SessionStore):
    def decode(self, session_data: bytes | str) -> dict[str, Any]:
        return dict(json.loads(_content(session_data)))

    def load(self) -> dict[str, Any]:
        database = connections[DEFAULT_DB_ALIAS]
        with database.cursor() as cursor:
            cursor.execute(_sql(), [self.session_key, database.ops.adapt_datetimefield_value(timezone.now())])
            row = cursor.fetchone()
        return self.decode(row[0]) if row else super().load()


@cache
def _sql() -> str:
    data, key, end, table = map(
        connection.ops.quote_name, ("session_data", "session_key", "expire_date", Session._meta.db_table)
    )
    return f"SELECT {data} FROM {table} WHERE {key} = %s AND {end} > %s"  # noqa: S608 -- names only


@lru_cache(maxsize=512)
def _content(session_data: bytes | str) -> str:
    """The content of a session as JSON, after its signature was checked."""
    return json.dumps(db.SessionStore().decode(session_data))
