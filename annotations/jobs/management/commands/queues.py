from typing import Any

from annotations.core.commands import JourneyCommand, RequiredStanding
from annotations.jobs.services.relay import QueueRow, queue_rows
from annotations.jobs.services.status import missing
from annotations.models import User


class Command(JourneyCommand):
    help = "Show the workers and jobs of each queue. Exit status 1 if jobs wait or lost their worker, and none runs."
    needs = RequiredStanding.SEE_QUEUES

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        rows = queue_rows()
        stuck = " and ".join(f"{row.queue} ({row.waiting + row.lost})" for row in rows if row.stuck)
        result: dict[str, Any] = {"queues": rows}
        return result | ({"failed": f"Jobs are waiting, but no worker is running: {stuck}."} if stuck else {})

    def say(self, result: dict[str, Any]) -> str:
        lines = []
        for row in result["queues"]:
            jobs = f"{row.running} running, {row.waiting} waiting"
            jobs += f" (the oldest for {row.oldest} s)" if row.oldest is not None else ""
            jobs += f", {row.lost} lost {'its' if row.lost == 1 else 'their'} worker" if row.lost else ""
            lines.append(f"{row.queue}: {_workers(row)}; jobs: {jobs}")
        return "\n".join(lines)


def _workers(row: QueueRow) -> str:
    if row.workers is None:
        return "Redis does not respond, so the number of workers is unknown"
    if row.workers == 0:
        return missing(row.queue)
    return f"{row.workers} worker{'s' if row.workers > 1 else ''}, {row.idle} idle"
