"""What workers run. RQ knows only `perform` and an id: no parameter of a job, and no note text, ever reaches Redis."""


def perform(job_id: int) -> None:
    """The worker's one way in. Raises nothing of the job's own."""
    from annotations.jobs.runner import run

    run(job_id)
