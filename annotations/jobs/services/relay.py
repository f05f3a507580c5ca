"""The relay: a small loop that survives outages of Redis and of the database."""

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
# While the database is unavailable, the relay waits at most this long between attempts (seconds).
LONGEST_WAIT = 10.0


class Relay:
    """Runs until `stop()`. Logs each outage once when it begins and once when it ends."""

    def __init__(self, interval: float | None = None) -> None:
        self._interval = interval or settings.RELAY_INTERVAL_SECONDS
        self._stop = threading.Event()
        self._tidied = float("-inf")
        self._outages: set[str] = set()
        self._wait = self._interval

    def stop(self) -> None:
        self._stop.set()

    def run(self) -> None:
        while not self._stop.is_set():
            self.round()
            self._stop.wait(self._wait)

    def round(self) -> Swept | None:
        """Do one sweep and the registered steps, and tidy up when it is time.

        Returns None while the database is unavailable.
        """
        try:
            swept = sweep()
            for step in hooks.STEPS:
                step()
            self._tidy()
        except (DatabaseError, InterfaceError) as error:
            self._away("The database", type(error).__name__)
            connection.close()
            self._wait = min(self._wait * 2, LONGEST_WAIT)
            return None
        self._back("The database")
        self._wait = self._interval
        if swept.redis_away:
            self._away("Redis", "no answer")
        elif swept.rung:
            self._back("Redis")
        for job_id in swept.put_back:
            logger.warning("Job %s lost its worker and was put back in the queue", job_id)
        for job_id in swept.failed:
            logger.error("Job %s lost its worker too often and was ended", job_id)
        return swept

    def _tidy(self) -> None:
        """Delete expired sessions and call the registered tidiers, every ten minutes."""
        if time.monotonic() - self._tidied < TIDY_SECONDS:
            return
        self._tidied = time.monotonic()
        for tidy in hooks.TIDIERS:
            tidy()
        Session.objects.filter(expire_date__lt=timezone.now()).delete()

    def _away(self, what: str, why: str) -> None:
        if what not in self._outages:
            self._outages.add(what)
            logger.warning("%s is unavailable (%s); trying again", what, why)

    def _back(self, what: str) -> None:
        if what in self._outages:
            self._outages.remove(what)
            logger.warning("%s is available again", what)
