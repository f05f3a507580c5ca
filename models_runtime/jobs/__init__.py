"""What workers run. RQ knows only `perform` and an id: no parameter of a job, and no note text, ever reaches Redis."""


def perform(job_id: int) -> None:
    """RQ's way in. Raises nothing of the job's own, so that RQ never keeps a traceback."""
    from models_runtime.runner import run

    run(job_id)
