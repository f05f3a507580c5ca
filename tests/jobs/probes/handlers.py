"""Handlers that write one Event per result, so that duplicate results are visible."""

import os
import signal
import time
from datetime import timedelta
from pathlib import Path

from django.db import OperationalError, connection, transaction
from django.utils import timezone

from annotations.core.services import ServiceError
from annotations.models import Event, StoredFile
from annotations.threads import VARIABLES
from tests.worlds.gates import STEP, may_begin

VERB = "probe.result"


def results(job_id):
    """Return (item, attempt) of every result of a job, in the order of writing."""
    rows = Event.objects.filter(verb=VERB, data__job=job_id).order_by("id").values_list("data", flat=True)
    return [(row["item"], row["attempt"]) for row in rows]


def _write(claim, item):
    Event.objects.create(
        verb=VERB, project_id=claim.project_id, data={"job": claim.job_id, "item": item, "attempt": claim.attempt}
    )


def _wait(claim, item, total):
    """Wait at the job's gate, if it has one, and follow orders meanwhile."""
    while not may_begin(claim.params.get("gate", ""), item):
        claim.progress(item, total)
        time.sleep(STEP)


def count(claim):
    """Write `total` results, each in its own fenced transaction, continuing after the rows that exist."""
    total, nap = claim.params["total"], claim.params.get("nap", 0)
    begun = len(results(claim.job_id))
    claim.progress(begun, total)
    for item in range(begun, total):
        time.sleep(nap)
        _wait(claim, item, total)
        with transaction.atomic():
            claim.fence()
            _write(claim, item)
        claim.progress(item + 1, total)
    return {"items": total}


def uncount(params, state):
    """Record the call in a stored file named after the state."""
    StoredFile.objects.create(
        project_id=params["project"], kind="export", name=f"undone-{state}", expires_at=timezone.now() + timedelta(1)
    )
    if params.get("undo_fails"):
        raise ValueError("Mario Rossi")


def trace(job, *rest):
    """Write a file. The hostile entries try to make RQ call this function."""
    Path(job.description).touch()


def once(claim):
    """Write one result, committed together with the state `done`."""
    claim.progress(0, 1)
    _wait(claim, 0, 1)
    with transaction.atomic():
        _write(claim, 0)
        claim.finish({"once": True})


def hold(claim):
    """Wait at the gate inside a fenced transaction, and leave a file that says so."""
    claim.progress(0, 1)
    with transaction.atomic():
        claim.fence()
        _write(claim, 0)
        Path(claim.params["inside"]).touch()
        while not may_begin(claim.params["gate"], 0):
            time.sleep(STEP)


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
            # Real handlers catch all exceptions here, so that an error in one note does not end the job.
            _write(claim, 0)
        return {}
    raise ValueError("Mario Rossi was here")


def dies(claim):
    """Kill the worker, as the kernel does when memory runs out."""
    _write(claim, 0)
    os.kill(os.getpid(), signal.SIGKILL)


def stubborn(claim):
    """Work for a long time without a progress call."""
    claim.progress(0, 2)
    time.sleep(claim.params["nap"])
    return {}


def threads(claim):
    """Tell what libraries read when they are loaded."""
    claim.progress(0, 1)
    return {name: os.environ.get(name) for name in VARIABLES}
