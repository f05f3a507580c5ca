"""The state of each queue: its workers, from heartbeats in Redis, and its jobs, from the database."""

from dataclasses import asdict, dataclass
from typing import Any

from django.db.models import Count, Min
from django.db.models.functions import Now
from django.utils import timezone

from annotations.jobs.services.doorbell import RedisError, states
from annotations.models import Job, JobState, Share


@dataclass(frozen=True)
class QueueRow:
    """One queue. `lost` counts jobs whose worker was killed while it ran them; they are not in `running`.

    `workers` and `idle` are None where Redis does not respond; a worker on several queues counts on each.

    `shared` counts the shares that workers hold of shared jobs. `oldest` is how long the oldest waiting job has waited,
    in seconds; None without waiting jobs.
    """

    queue: str
    workers: int | None
    idle: int | None
    waiting: int
    running: int
    lost: int
    shared: int
    oldest: int | None

    @property
    def stuck(self) -> bool:
        """Whether jobs wait or lost their worker, and no worker is running."""
        return self.workers == 0 and self.waiting + self.lost > 0

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"stuck": self.stuck}


def queue_rows() -> list[QueueRow]:
    """Return one row for each queue, in the order cpu, gpu, llm."""
    jobs = Job.objects.filter(state__in=(JobState.QUEUED, JobState.RUNNING)).order_by()
    counted = {
        (queue, state): (count, first)
        for queue, state, count, first in jobs.values_list("queue", "state").annotate(
            count=Count("id"), first=Min("created_at")
        )
    }
    held = Share.objects.filter(lease_until__gt=Now()).order_by().values_list("job__queue").annotate(n=Count("id"))
    shared = dict(held)
    expired = Job.objects.filter(state=JobState.RUNNING, lease_until__lt=Now()).order_by()
    lost = dict(expired.values_list("queue").annotate(n=Count("id")))
    return [_row(queue, counted, lost.get(queue, 0), shared.get(queue, 0)) for queue in Job.Queue.values]


def _row(queue: str, counted: dict[tuple[str, str], tuple[int, Any]], lost: int, shared: int) -> QueueRow:
    try:
        alive: list[str] | None = states(queue)
    except RedisError:
        alive = None
    waiting, since = counted.get((queue, JobState.QUEUED), (0, None))
    return QueueRow(
        queue=queue,
        workers=None if alive is None else len(alive),
        idle=None if alive is None else alive.count("idle"),
        waiting=waiting,
        running=counted.get((queue, JobState.RUNNING), (0, None))[0] - lost,
        lost=lost,
        shared=shared,
        oldest=round((timezone.now() - since).total_seconds()) if since else None,
    )
