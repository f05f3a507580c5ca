"""Sessions in the database, as Django keeps them; only the read at every request is a prepared one.

What a signature says doesn't change: it is looked at once for each content of a session, not at every request.
"""

import json
from datetime import datetime
from functools import lru_cache
from typing import Any

from django.contrib.sessions.backends import db
from django.contrib.sessions.models import Session
from django.utils import timezone

from annotations.models.prepared import PreparedRead

_LIVE = PreparedRead(
    lambda key, now: Session.objects.filter(session_key=key, expire_date__gt=now).values_list("session_data"),
    str,
    datetime,
)


@lru_cache(maxsize=512)
def _content(signed: str) -> str:
    return json.dumps(db.SessionStore().decode(signed))


class SessionStore(db.SessionStore):
    def load(self) -> dict[str, Any]:
        row = _LIVE.first(self.session_key or "", timezone.now())
        if row is None:
            # As the original does: a key that names nothing must not be taken over.
            self._session_key = None
            return {}
        return dict(json.loads(_content(row[0])))
