"""Start scores as jobs."""

from annotations.jobs.services.queue import once
from annotations.models import Job, User
from annotations.scores.services.scoring import ScoreRequest


def start_score(*, wanted: ScoreRequest, actor: User, token: str = "") -> Job:
    """Start a long score, or return the job that computes it. Everybody who may see the figures may start the job."""
    return once("score", wanted.reference.project, wanted.params, actor, token)
