"""One attempt at a job, from the claim to its last state. Every error of a handler is caught here."""

import logging
import os
import signal
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

from django.conf import settings
from django.db import DatabaseError, InterfaceError, InternalError, OperationalError, connection, connections

from annotations.core.services import Canceled, ServiceError
from annotations.formats.notes import NoteError
from annotations.jobs.registry import JOBS, JobKind, kind_of, load
from annotations.jobs.runner import claims
from annotations.models import Job, JobState
from annotations.parents import end_with

# Extending a lease while the handler works, from a thread with its own database connection.


logger = logging.getLogger("deidreview.jobs")


@contextmanager
def heartbeat(claim: claims.Claim, every: float | None = None) -> Iterator[None]:
    """Extend the lease meanwhile. A lost lease sets `claim.lost`, and the next progress call raises LostLease."""
    stop = threading.Event()
    about = (claim, every or settings.JOB_LEASE_SECONDS / 3, stop)
    thread = threading.Thread(target=_beat, args=about, name=f"heartbeat-{claim.job_id}", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(timeout=5)


def _beat(claim: claims.Claim, every: float, stop: threading.Event) -> None:
    wait = every
    try:
        while not stop.wait(wait):
            try:
                if not claim.beat():
                    return
                wait = every
            except (DatabaseError, InterfaceError) as error:
                # The database is unavailable or busy: try again soon, until the lease expires.
                logger.warning("Job %s: heartbeat missed (%s)", claim.job_id, type(error).__name__)
                connection.close()
                wait = min(1.0, every)
    finally:
        connection.close()


ERROR_LENGTH = 1000
# Errors of the database that may pass: no connection, a lock, a deadlock, a transaction that was idle for too long.
TRANSIENT = (OperationalError, InterfaceError, InternalError)


class _JobFailed(Exception):
    """The job failed for good. The message is shown on its page."""


def run(job_id: int) -> None:
    """Run the job if it is free, or help with it. A second call for the same job does nothing."""
    try:
        claim = claims.take(job_id) or claims.join(job_id)
        if claim is None:
            return
        if claim.leads and _usable.cores > 1 and (kind := JOBS.get(claim.kind)) and kind.alone:
            _fork_helpers(claim.job_id)
        with _bounded_idle_transactions(), heartbeat(claim):
            if isinstance(claim, claims.Helper):
                _help(claim)
            else:
                _attempt(claim)
    except claims.LostLease:
        logger.warning("Job %s: another worker holds the lease; the work of this one was refused", job_id)
    except (DatabaseError, InterfaceError) as error:
        # Not even the state could be written. When the lease expires, the relay puts the job back.
        logger.warning("Job %s: the database is unavailable (%s)", job_id, type(error).__name__)
        connection.close()


def _attempt(claim: claims.Claim) -> None:
    try:
        kind = kind_of(claim.kind)
    except LookupError as error:
        claim.end(JobState.FAILED, str(error))
        return
    try:
        _work(claim, kind)
    except claims.HandBack as order:
        claim.give_back(paused=order.paused)
    except Canceled:
        _undo(claim, kind, JobState.CANCELED, "")
    except _JobFailed as error:
        _undo(claim, kind, JobState.FAILED, str(error)[:ERROR_LENGTH])
    except TRANSIENT as error:
        # A passing error of the database, not of the job: it is worth another try soon.
        logger.warning("Job %s: interrupted by a database error (%s)", claim.job_id, type(error).__name__)
        connection.close()
        claim.give_back(counted=True, later=True)


def _work(claim: claims.Claim, kind: JobKind) -> None:
    """Run the handler. Its errors become messages that may be shown."""
    if claim.cancel_requested:
        raise Canceled
    if claim.attempt > claims.MAX_ATTEMPTS:
        raise _JobFailed(gave_up(claim.attempt - 1))
    try:
        handler: Callable[[claims.Claim], dict[str, Any] | None] = load(kind.handler)
        result = handler(claim)
        if not claim.finished:
            claim.finish(result or {})
    except (Canceled, *TRANSIENT):
        raise
    except ServiceError as error:
        raise _JobFailed(str(error)) from None
    except NoteError as error:
        # Without file names, which may name a patient: a job's row is kept after an erasure.
        raise _JobFailed(" ".join(problem.message for problem in error.problems)) from None
    except Exception as error:
        logger.error("Job %s (%s) failed: %s at %s", claim.job_id, claim.kind, type(error).__name__, _line(error))
        message = f"The job failed with an unexpected error ({type(error).__name__}). See the server's log."
        raise _JobFailed(message) from None


def _help(claim: claims.Helper) -> None:
    """Work on shares of another worker's job. An error here returns the share to the others; the job goes on."""
    try:
        load(kind_of(claim.kind).handler)(claim)
    except (claims.HandBack, claims.LostLease):
        pass  # the job has ended or needs no helper any more
    except TRANSIENT as error:
        logger.warning("Job %s: a helper was interrupted by a database error (%s)", claim.job_id, type(error).__name__)
        connection.close()
    except Exception as error:
        logger.error("Job %s: a helper failed: %s at %s", claim.job_id, type(error).__name__, _line(error))
        claims.send_away(claim.job_id)
    claims.drop_share(claim)


# Processes that help with a job on the cores that no worker uses. A command and a test use one core.


_usable = SimpleNamespace(cores=1)
# How often a helper looks whether its help is wanted (seconds), and how much the web server's work precedes its own.
LOOK_EVERY = 1.0
NICE = 5


def use_cores(number: int) -> None:
    """Let this process use so many cores, by processes that help. It must have no other thread when a job begins."""
    _usable.cores = number


def _fork_helpers(job_id: int) -> None:
    connections.close_all()  # A connection that is open during a fork would be used by two processes.
    leader = os.getpid()
    for _core in range(1, _usable.cores):
        if os.fork() == 0:
            try:
                if end_with(leader, signal.SIGTERM):
                    os.nice(NICE)
                    _help_when_wanted(job_id)
            finally:
                os._exit(os.EX_OK)


def _help_when_wanted(job_id: int) -> None:
    while not claims.stopping() and Job.objects.filter(pk=job_id, state=JobState.RUNNING).exists():
        if helper := claims.join(job_id):
            with _bounded_idle_transactions(), heartbeat(helper):
                _help(helper)
        time.sleep(LOOK_EVERY)


def _undo(claim: claims.Claim, kind: JobKind, state: JobState, reason: str) -> None:
    """Undo what the job wrote and write its last state, in one transaction with a fence against late workers."""
    try:
        with claim.fenced():
            complete = load(kind.undo)(claim.params, str(state)) if kind.undo else None
            if complete is None:
                claim.end(state, reason)
            else:
                claim.finish(complete)
    except TRANSIENT:
        raise
    except Exception as error:
        logger.error("Job %s: undoing it failed: %s at %s", claim.job_id, type(error).__name__, _line(error))
        claim.end(JobState.FAILED, f"{reason} What the job had written could not be undone.".strip())


def gave_up(times: int) -> str:
    """Return the error message of a job whose workers were lost too often."""
    return (
        f"The worker of this job was lost {times} times, so the job is not started again. "
        "The worker may have run out of memory."
    )


def _line(error: Exception) -> str:
    """Return where the error was raised, without its message, which may quote a note."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "an unknown line"


@contextmanager
def _bounded_idle_transactions() -> Iterator[None]:
    """Limit idle transactions on PostgreSQL, so that a frozen worker does not hold locks for longer than its lease."""
    if connection.vendor != "postgresql":
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute(f"SET idle_in_transaction_session_timeout = {int(settings.JOB_LEASE_SECONDS * 1000)}")
    yield
    with connection.cursor() as cursor:
        cursor.execute("RESET idle_in_transaction_session_timeout")
