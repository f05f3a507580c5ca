"""One attempt at one job, from the claim to its last state. Nothing raised by a handler gets past here."""

import logging
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.db import DatabaseError, InterfaceError, InternalError, OperationalError, connection, transaction

from annotations.core.errors import ServiceError
from annotations.core.progress import Cancelled
from annotations.domain.notes import NoteError
from annotations.jobs.registry import JobKind, kind_of, load
from annotations.jobs.runner.claims import MAX_ATTEMPTS, Claim, HandBack, LostLease, take
from annotations.jobs.runner.heartbeat import Heartbeat
from annotations.jobs.runner.helping import Helper, join, send_away
from annotations.jobs.runner.shares import drop_share
from annotations.models import Job

logger = logging.getLogger("deidreview.jobs")
ERROR_LENGTH = 1000
# The database's own troubles: gone, locked, a deadlock, a transaction that idled for too long.
TRANSIENT = (OperationalError, InterfaceError, InternalError)


class _Failed(Exception):
    """The job failed for good; the message is for its page."""


def run(job_id: int) -> None:
    """Do the job if it is free, or help at it. Called again, by a second push, it finds that it is not needed."""
    try:
        claim = take(job_id) or join(job_id)
        if claim is None:
            return
        with _bounded_idle_transactions(), Heartbeat(claim):
            if isinstance(claim, Helper):
                _help(claim)
            else:
                _attempt(claim)
    except LostLease:
        logger.warning("job %s: the lease went to another worker; this one's work was refused", job_id)
    except (DatabaseError, InterfaceError) as error:
        # Not even the state could be written. The lease runs out and the relay puts the job back.
        logger.warning("job %s: the database is away (%s)", job_id, type(error).__name__)
        connection.close()


def _attempt(claim: Claim) -> None:
    try:
        kind = kind_of(claim.kind)
    except LookupError as error:
        claim.end(Job.State.FAILED, str(error))
        return
    try:
        _work(claim, kind)
    except HandBack as order:
        claim.give_back(paused=order.paused)
    except Cancelled:
        _take_back(claim, kind, Job.State.CANCELLED, "")
    except _Failed as error:
        _take_back(claim, kind, Job.State.FAILED, str(error)[:ERROR_LENGTH])
    except TRANSIENT as error:
        # The database hiccupped: not the job's fault, worth another try in a moment.
        logger.warning("job %s: interrupted by the database (%s)", claim.job_id, type(error).__name__)
        connection.close()
        claim.give_back(counted=True, later=True)


def _work(claim: Claim, kind: JobKind) -> None:
    """Run the handler; its errors become words that may be shown."""
    if claim.cancel_requested:
        raise Cancelled
    if claim.attempt > MAX_ATTEMPTS:
        raise _Failed(gave_up(claim.attempt - 1))
    try:
        handler: Callable[[Claim], dict[str, Any] | None] = load(kind.handler)
        result = handler(claim)
        if not claim.finished:
            claim.finish(result or {})
    except (Cancelled, *TRANSIENT):
        raise
    except ServiceError as error:
        raise _Failed(str(error)) from None
    except NoteError as error:
        # Without the names of files, which may name a patient: a job's row outlives an erasure.
        raise _Failed("; ".join(problem.message for problem in error.problems)) from None
    except Exception as error:
        logger.error("job %s (%s) failed: %s at %s", claim.job_id, claim.kind, type(error).__name__, _place(error))
        raise _Failed(f"Something went wrong inside ({type(error).__name__}). The server's log says where.") from None


def _help(claim: Helper) -> None:
    """Do shares of another worker's job. Whatever goes wrong here is not the job's: what was in hand goes back."""
    try:
        load(kind_of(claim.kind).handler)(claim)
    except (HandBack, LostLease):
        pass  # it is over, or needs this one no longer
    except TRANSIENT as error:
        logger.warning("job %s: its helper was interrupted by the database (%s)", claim.job_id, type(error).__name__)
        connection.close()
    except Exception as error:
        logger.error("job %s: its helper failed: %s at %s", claim.job_id, type(error).__name__, _place(error))
        send_away(claim.job_id)
    drop_share(claim)


def _take_back(claim: Claim, kind: JobKind, state: Job.State, words: str) -> None:
    """Undo and the last state in one fenced transaction: a late worker undoes nothing."""
    try:
        with transaction.atomic():
            claim.fence()
            complete = load(kind.undo)(claim.params, str(state)) if kind.undo else None
            if complete is None:
                claim.end(state, words)
            else:
                claim.finish(complete)
    except TRANSIENT:
        raise
    except Exception as error:
        logger.error("job %s: taking it back failed: %s at %s", claim.job_id, type(error).__name__, _place(error))
        claim.end(Job.State.FAILED, f"{words} What it had written could not be taken back.".strip())


def gave_up(times: int) -> str:
    """What the page says of a job that no worker survives."""
    return f"Its worker was lost {times} times, so it is not started again; the worker may have run out of memory."


def _place(error: Exception) -> str:
    """Where it was raised; never its message, which may quote a note."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "unknown place"


@contextmanager
def _bounded_idle_transactions() -> Iterator[None]:
    """PostgreSQL: a worker frozen inside a transaction must not hold its locks for longer than its lease."""
    if connection.vendor != "postgresql":
        yield
        return
    with connection.cursor() as cursor:
        cursor.execute(f"SET idle_in_transaction_session_timeout = {int(settings.JOB_LEASE_SECONDS * 1000)}")
    yield
    with connection.cursor() as cursor:
        cursor.execute("RESET idle_in_transaction_session_timeout")
