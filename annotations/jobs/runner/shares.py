"""Several workers on one job: each takes a share of its rows, and writes the results before it takes the next share.

To take a share, a worker locks the job's row and waits for no share. To write, it locks its own share, then the job's
row. This order avoids deadlocks.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from annotations.jobs.runner.claims import Claim, lease, release
from annotations.models import Job, JobState, Share

Held = Sequence[tuple[int, int]]
"""The shares of other workers: first and last id of each, both included."""


def take_share(claim: Claim, pick: Callable[[Held], Sequence[int]]) -> Sequence[int]:
    """Reserve the rows that `pick` chooses for this worker, for one lease; empty where no row is free.

    `pick` gets the shares of other workers and returns ids in order, between two of these shares. Raises LostLease.
    """
    with transaction.atomic():
        claim.fence()
        shares = Share.objects.filter(job_id=claim.job_id)
        # The workers of expired shares are refused from now on.
        release(shares.filter(lease_until__lt=Now()).exclude(token=claim.token))
        rows = pick(list(shares.exclude(token=claim.token).values_list("first", "last")))
        if not rows:
            drop_share(claim)
        elif not shares.filter(token=claim.token).update(first=rows[0], last=rows[-1], lease_until=Now() + lease()):
            Share.objects.create(
                job_id=claim.job_id, token=claim.token, first=rows[0], last=rows[-1], lease_until=Now() + lease()
            )
            _measure_anew(claim.job_id)
    return rows


@contextmanager
def writing_share(claim: Claim, done: int) -> Iterator[None]:
    """Open the transaction that writes the results of a share and adds `done` to the job's progress.

    Raises LostLease, and writes nothing, where another worker has the share or the job.
    """
    with transaction.atomic():
        claim.hold_share()
        yield
        claim.advance(done)


def drop_share(claim: Claim) -> None:
    """Return this worker's share to the others."""
    if Share.objects.filter(token=claim.token).delete()[0]:
        _measure_anew(claim.job_id)


def _measure_anew(job_id: int) -> None:
    """Restart the measurement of the rate, since the number of workers has changed."""
    Job.objects.filter(pk=job_id, state=JobState.RUNNING).update(claimed_at=Now(), claimed_done=F("done"))
