"""The items of a run in batches. A batch is a worker's share, as large as the backend takes at once."""

import time
from collections.abc import Iterator

from django.db.models import QuerySet

from annotations.jobs.runner import Claim, take_share
from annotations.jobs.runner.shares import Held
from annotations.text.tokens import estimated
from models_runtime.backends.base import Budget
from models_runtime.models import Run, RunItem

# How often the worker that leads the run checks whether other workers have finished their batches (seconds).
LOOK_EVERY = 0.25


def batches(claim: Claim, run: Run, budget: Budget) -> Iterator[list[RunItem]]:
    """Yield shares of the pending items by id until none is pending. Failed items are not repeated.

    A helper ends when no item is free. The worker that leads the run waits for the other workers' shares, which are
    free again if a worker dies.
    """
    while True:
        ids = take_share(claim, lambda held: _free(run, held, budget))
        if ids:
            claim.check()
            yield list(RunItem.objects.filter(pk__in=ids).select_related("document").order_by("id"))
        elif claim.leads and pending(run).exists():
            claim.check()
            time.sleep(LOOK_EVERY)
        else:
            return


def pending(run: Run) -> QuerySet[RunItem]:
    return RunItem.objects.filter(run=run, state=RunItem.State.PENDING)


def _free(run: Run, held: Held, budget: Budget) -> list[int]:
    """Return the next free ids, all before the next share of another worker."""
    rows = pending(run)
    for first, last in held:
        rows = rows.exclude(id__range=(first, last))
    ids: list[int] = []
    tokens = 0
    for pk, length in rows.order_by("id").values_list("id", "document__length")[: budget.notes]:
        tokens += estimated(length)
        if ids and (tokens > budget.tokens or any(ids[0] < first < pk for first, _ in held)):
            break
        ids.append(pk)
    return ids
