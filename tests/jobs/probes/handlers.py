"""Handlers that leave one Event per result, so that a doubled result shows."""

import os
import signal
import time
from datetime import timedelta
from pathlib import Path

from django.db import OperationalError, connection, transaction
from django.utils import timezone

from annotations.core.errors import ServiceError
from annotations.models import Event, StoredFile

VERB = "probe.result"


def results(job_id):
    """(item, attempt) of every result of a job, in the order they were written."""
    rows = Event.objects.filter(verb=VERB, data__job=job_id).order_by("id").values_list("data", flat=True)
    return [(row["item"], row["attempt"]) for row in rows]


def _write(claim, item):
    Event.objects.create(
        verb=VERB, project_id=claim.project_id, data={"job": claim.job_id, "item": item, "attempt": claim.attempt}
    )


def count(claim):
    """`total` results, each in its own fenced transaction; goes on where the rows say it stopped."""
    total, nap = claim.params["total"], claim.params.get("nap", 0)
    begun = len(results(claim.job_id))
    claim.progress(begun, total)
    for item in range(begun, total):
        time.sleep(nap)
        with transaction.atomic():
            claim.fence()
            _write(claim, item)
        claim.progress(item + 1, total)
    return {"items": total}


def uncount(params, state):
    """Leaves a trace of having been called: a stored file named after the state."""
    StoredFile.objects.create(
        project_id=params["project"], kind="export", name=f"undone-{state}", expires_at=timezone.now() + timedelta(1)
    )
    if params.get("undo_fails"):
        raise ValueError("Mario Rossi")


def trace(job, *rest):
    """What an attacker would have RQ call: leaves a file."""
    Path(job.description).touch()


def once(claim):
    """One result, committed together with the state `done`."""
    for step in range(claim.params.get("steps", 1)):
        time.sleep(claim.params.get("nap", 0))
        claim.progress(step, claim.params.get("steps", 1))
    with transaction.atomic():
        _write(claim, 0)
        claim.finish({"once": True})


def hold(claim):
    """Sits inside a fenced transaction."""
    claim.progress(0, 1)
    with transaction.atomic():
        claim.fence()
        _write(claim, 0)
        time.sleep(claim.params["nap"])


def fails(claim):
    error = claim.params["error"]
    if error == "service":
        raise ServiceError("there is no label 'X'; there are: A, B")
    if error == "database":
        raise OperationalError("the connection is lost")
    if error == "swallow":
        claim.progress(0, 2)
        connection.cursor().execute("UPDATE models_runtime_job SET lease_token = NULL WHERE id = %s", [claim.job_id])
        try:
            with transaction.atomic():
                claim.fence()
        except Exception:
            # What a handler does that shields its run from one bad note.
            _write(claim, 0)
        return {}
    raise ValueError("Mario Rossi was here")


def dies(claim):
    """Takes its worker down, as the kernel does when memory runs out."""
    _write(claim, 0)
    os.kill(os.getpid(), signal.SIGKILL)


def stubborn(claim):
    """Reports nothing for a long while."""
    claim.progress(0, 2)
    time.sleep(claim.params["nap"])
    return {}
