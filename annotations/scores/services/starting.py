"""Scores as jobs."""

from annotations.jobs.services.starting import once
from annotations.models import Job, User
from annotations.scores.services.scoring import Asked


def start_score(*, wish: Asked, actor: User, token: str = "") -> Job:
    """Start a score that takes long, or return the job that is on it. Who may see figures may have them computed."""
    return once("score", wish.reference.project, wish.params, actor, token)
