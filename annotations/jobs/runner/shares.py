"""Several workers at one job: each takes a share of its rows, and writes what these became before it takes the next.

Who takes a share holds the job's row, and waits for nobody's share; who writes holds its own share, then the job's row.
So nobody waits in a circle.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Now

from annotations.jobs.runner.claims import Claim, lease, release
from annotations.models import Job, Share

Held = Sequence[tuple[int, int]]
"""The rows that others have in hand: first and last id of each share, both inside."""


def take_share(claim: Claim, pick: Callable[[Held], Sequence[int]]) -> Sequence[int]:
    """The rows that `pick` chooses, this worker's for one lease; none where nothing is free.

    `pick` is told what others have in hand, and gives ids in order, between two shares of others. Raises LostLease.
    """
    with transaction.atomic():
        claim.fence()
        shares = Share.objects.filter(job_id=claim.job_id)
        # Their workers are refused from now on.
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
def settling(claim: Claim, done: int) -> Iterator[None]:
    """A transaction for what became of the rows in hand: `done` more are done, and the data commits with that.

    Raises LostLease where the share, or the job, went to another worker; nothing is written then.
    """
    with transaction.atomic():
        claim.hold_share()
        yield
        claim.advance(done)


def drop_share(claim: Claim) -> None:
    """Leave what is in hand to the others."""
    if Share.objects.filter(token=claim.token).delete()[0]:
        _measure_anew(claim.job_id)


def _measure_anew(job_id: int) -> None:
    """One more or one fewer is at it: the rate, and what is left, are those of the workers that are."""
    Job.objects.filter(pk=job_id, state=Job.State.RUNNING).update(claimed_at=Now(), claimed_done=F("done"))
