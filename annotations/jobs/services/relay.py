"""The relay: a small loop that outlives Redis and the database going away."""

import logging
import threading
import time

from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import DatabaseError, InterfaceError, connection
from django.utils import timezone

from annotations.jobs import hooks
from annotations.jobs.services.sweep import Swept, sweep

logger = logging.getLogger("deidreview.relay")
TIDY_SECONDS = 600.0
# While the database is away, look for it this often at least (seconds).
LONGEST_WAIT = 10.0


class Relay:
    """`run()` until `stop()`; says each trouble once when it begins and once when it is over."""

    def __init__(self, interval: float | None = None) -> None:
        self._interval = interval or settings.RELAY_INTERVAL_SECONDS
        self._stop = threading.Event()
        self._tidied = float("-inf")
        self._troubles: set[str] = set()
        self._wait = self._interval

    def stop(self) -> None:
        self._stop.set()

    def run(self) -> None:
        while not self._stop.is_set():
            self.round()
            self._stop.wait(self._wait)

    def round(self) -> Swept | None:
        """One sweep, and tidying up when it is time. None while the database is away."""
        try:
            swept = sweep()
            self._tidy()
        except (DatabaseError, InterfaceError) as error:
            self._trouble("the database", type(error).__name__)
            connection.close()
            self._wait = min(self._wait * 2, LONGEST_WAIT)
            return None
        self._over("the database")
        self._wait = self._interval
        if swept.redis_away:
            self._trouble("Redis", "no answer")
        elif swept.rung:
            self._over("Redis")
        for job_id in swept.put_back:
            logger.warning("job %s lost its worker and was put back", job_id)
        for job_id in swept.failed:
            logger.error("job %s lost its worker too often and was ended", job_id)
        return swept

    def _tidy(self) -> None:
        """Expired sessions, and what features registered to be tidied up, every ten minutes."""
        if time.monotonic() - self._tidied < TIDY_SECONDS:
            return
        self._tidied = time.monotonic()
        for tidy in hooks.TIDIERS:
            tidy()
        Session.objects.filter(expire_date__lt=timezone.now()).delete()

    def _trouble(self, what: str, why: str) -> None:
        if what not in self._troubles:
            self._troubles.add(what)
            logger.warning("%s is away (%s); trying on", what, why)

    def _over(self, what: str) -> None:
        if what in self._troubles:
            self._troubles.remove(what)
            logger.warning("%s is back", what)
