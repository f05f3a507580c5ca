"""The score that a person asks for, and whether it can be computed at once."""

from django.http import Http404

from annotations.core.access import Access, authors_for
from annotations.core.services import ServiceError
from annotations.jobs.services.queue import once
from annotations.models import Category, Job, User
from annotations.notes.selectors.in_context import label_looks
from annotations.scores.selectors import ComparedNotes, characters
from annotations.scores.services.scoring import Score, ScoreRequest, kept_score, notes_of, score, score_request

# Larger scores are computed by a job: this much text takes about one second.
MOST_CHARACTERS = 5_000_000


def plain_request(access: Access, version: int, author: int) -> ScoreRequest:
    """Return a score without choices; version 0 is the current gold. Raises Http404 for unknown ones."""
    if max(version, author) >= 2**31:
        raise Http404("This score does not exist.")
    try:
        return score_request(access.project, version=version, author_id=author, among=authors_for(access))
    except ServiceError as error:
        raise Http404("This score does not exist.") from error


def too_long(wanted: ScoreRequest, notes: ComparedNotes) -> bool:
    """Whether a worker must compute the score: of much text, or with a tokenizer that only workers have."""
    return bool(wanted.tokenizer) or characters(notes, MOST_CHARACTERS) > MOST_CHARACTERS


def score_now(wanted: ScoreRequest) -> Score | None:
    """Return the score if it is stored or takes no job; None without notes, too. Raises ServiceError."""
    notes = notes_of(wanted)
    found = kept_score(wanted, notes)
    if found is not None:
        return found
    return score(wanted) if notes.count and not too_long(wanted, notes) else None


def category_names(wanted: ScoreRequest) -> dict[str, str]:
    """The names of categories by code: those of the project, or of the label set that the labels are mapped to."""
    project = wanted.reference.project
    if wanted.into:
        return {code: look.name for code, look in label_looks(project, wanted.into).items()}
    return dict(Category.objects.filter(label_set__project=project).order_by().values_list("code", "name"))


def start_score(*, wanted: ScoreRequest, actor: User, token: str = "") -> Job:
    """Start a long score, or return the job that computes it. Everybody who may see the figures may start the job."""
    return once("score", wanted.reference.project, wanted.params, actor, token)
