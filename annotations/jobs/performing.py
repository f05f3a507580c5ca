"""The function that workers run. Redis gets only a job's id: neither its parameters nor note text."""


def perform(job_id: int) -> None:
    """Run the job in a worker. Errors of the job are caught and stored in its row."""
    from annotations.jobs.runner import run

    run(job_id)
