"""Extending a lease while the handler works, from a thread with its own database connection."""

import logging
import threading
from types import TracebackType

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection

from annotations.jobs.runner.claims import Claim

logger = logging.getLogger("deidreview.jobs")


class Heartbeat:
    """Extends the lease inside `with`. A lost lease sets `claim.lost`, and the next progress call raises LostLease."""

    def __init__(self, claim: Claim, every: float | None = None) -> None:
        self._claim = claim
        self._every = every or settings.JOB_LEASE_SECONDS / 3
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"heartbeat-{claim.job_id}", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join(timeout=5)

    def _run(self) -> None:
        wait = self._every
        try:
            while not self._stop.wait(wait):
                try:
                    if not self._claim.beat():
                        return
                    wait = self._every
                except (DatabaseError, InterfaceError) as error:
                    # The database is unavailable or busy: try again soon, until the lease expires.
                    logger.warning("Job %s: heartbeat missed (%s)", self._claim.job_id, type(error).__name__)
                    connection.close()
                    wait = min(1.0, self._every)
        finally:
            connection.close()
