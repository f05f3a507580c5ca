"""Several finished runs reviewed together: a run whose readings are the merged list of theirs (domain.merging)."""

from collections.abc import Sequence

from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.domain.voting import LEAST
from annotations.models import Job, Project, User
from models_runtime.core.registry import ENSEMBLE, MERGED
from models_runtime.models import Run, RunItem
from models_runtime.runs.services.backends import Chosen
from models_runtime.runs.services.ensembles import left_out, run_voter
from models_runtime.runs.services.runs import started

MOST = 20
STANDS = (Job.State.QUEUED, Job.State.RUNNING, Job.State.PAUSED, Job.State.DONE)


def review_together(*, project: Project, runs: Sequence[str], actor: User | None, name: str = "", key: str) -> Run:
    """The merged list of the runs called so, over the notes that all of them have read.

    Where the same runs were merged before and read no note since, that list is given again, so that work on it goes on.
    Raises ServiceError: fewer than two runs, one twice, too many, one that this project lacks, one still at work, one
    that is such a list itself, a name that is taken, or no note that all of them have read.
    """
    names = [word.strip() for word in runs]
    if twice := sorted({word for word in names if names.count(word) > 1}):
        raise ServiceError(
            _("a run counts once; given twice: %(choices)s") % {"choices": ", ".join(twice)}, code="runs"
        )
    if not LEAST <= len(names) <= MOST:
        raise ServiceError(
            _("choose from %(least)s to %(most)s runs to review together") % {"least": LEAST, "most": MOST}, code="runs"
        )
    voters = sorted((run_voter(project, word) for word in names), key=lambda voter: voter.number)
    authors = [voter.number for voter in voters]
    missing = left_out(project, authors)
    there = _same(project, authors, project.documents.count() - missing)
    if there is not None:
        return there
    params = {"method": MERGED, "members": [voter.as_params(None) for voter in voters], "left_out": missing}
    return started(
        project=project, choice=Chosen(ENSEMBLE, None, "together"), actor=actor, name=name, params=params, key=key,
        read_by=authors, merged_from=authors,
    )  # fmt: skip


def _same(project: Project, authors: Sequence[int], notes: int) -> Run | None:
    """The newest merged list of just these runs, if it holds all notes that they have read by now."""
    rows = Run.objects.filter(project=project, author__merged_from=list(authors), job__state__in=STANDS)
    run = rows.order_by("-pk").first()
    return run if run is not None and RunItem.objects.filter(run=run).count() == notes else None
