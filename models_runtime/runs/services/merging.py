"""Merge several finished runs into one list of suggestions, to review them together (domain.combining.merging)."""

from collections.abc import Sequence

from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.models import JobState, Project, User
from annotations.text.combining import LEAST
from models_runtime.core.registry import ENSEMBLE, MERGED
from models_runtime.models import Run, RunItem
from models_runtime.runs.services.backends import Chosen
from models_runtime.runs.services.ensembles import left_out, run_voter
from models_runtime.runs.services.runs import started

MOST = 20
STANDS = (JobState.QUEUED, JobState.RUNNING, JobState.PAUSED, JobState.DONE)


def review_together(*, project: Project, runs: Sequence[str], actor: User | None, name: str = "", key: str) -> Run:
    """Merge the runs with these names into one list, for the notes that all of them have annotated.

    If the same runs were already merged and have annotated no note since, return that list, so that its review
    continues. Raises ServiceError for too few or too many runs, a duplicate, an unknown run, a run in progress, a
    merged list among the runs, a name that exists, and no note that all runs have annotated.
    """
    names = [word.strip() for word in runs]
    if twice := sorted({word for word in names if names.count(word) > 1}):
        raise ServiceError(
            _("Each run can be chosen only once. Remove the duplicates of: %(choices)s.")
            % {"choices": ", ".join(twice)},
            code="runs",
        )
    if not LEAST <= len(names) <= MOST:
        raise ServiceError(
            _("Choose %(least)s to %(most)s runs to review together.") % {"least": LEAST, "most": MOST}, code="runs"
        )
    voters = sorted((run_voter(project, word) for word in names), key=lambda voter: voter.number)
    authors = [voter.number for voter in voters]
    missing = left_out(project, authors)
    existing = _same(project, authors, project.documents.count() - missing)
    if existing is not None:
        return existing
    params = {"method": MERGED, "members": [voter.as_params(None) for voter in voters], "left_out": missing}
    return started(
        project=project, choice=Chosen(ENSEMBLE, None, "together"), actor=actor, name=name, params=params, key=key,
        read_by=authors, merged_from=authors,
    )  # fmt: skip


def _same(project: Project, authors: Sequence[int], notes: int) -> Run | None:
    """Return the newest merged list of exactly these runs, if it has all notes that they have annotated by now."""
    rows = Run.objects.filter(project=project, author__merged_from=list(authors), job__state__in=STANDS)
    run = rows.order_by("-pk").first()
    return run if run is not None and RunItem.objects.filter(run=run).count() == notes else None
