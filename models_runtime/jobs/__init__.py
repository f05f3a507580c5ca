"""What workers run: `perform` with an id. No parameter of a job, and no note text, ever reaches Redis."""


def perform(job_id: int) -> None:
    """The worker's one way in. Raises nothing of the job's own."""
    from models_runtime.runner import run

    run(job_id)
