"""What the pages of one score have in common: the score that is asked for, and the addresses of its errors."""

from typing import TypedDict
from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext_lazy

from annotations.core.access import Access, authors_for
from annotations.core.errors import ServiceError
from annotations.core.requests import Request
from annotations.domain.scoring.errors import Kind
from annotations.domain.scoring.similarity import THRESHOLD
from annotations.models import Category
from annotations.notes.selectors.in_context import label_looks
from annotations.scores.selectors import Compared, characters
from annotations.scores.services.scoring import Score, ScoreRequest, kept_score, notes_of, score, score_request

# Larger scores are computed by a job: this much text takes about one second.
MOST_CHARACTERS = 5_000_000
KINDS = {
    Kind.MISSED: gettext_lazy("Missed"),
    Kind.SPURIOUS: gettext_lazy("Spurious"),
    Kind.LABEL: gettext_lazy("Different label"),
    Kind.BOUNDARY: gettext_lazy("Different bounds"),
    Kind.BOTH: gettext_lazy("Different label and bounds"),
}


def too_long(wanted: ScoreRequest, notes: Compared) -> bool:
    """Whether a worker must compute the score: of much text, or with a tokenizer that only workers have."""
    return bool(wanted.tokenizer) or characters(notes) > MOST_CHARACTERS


def score_now(wanted: ScoreRequest) -> Score | None:
    """Return the score if it is stored or takes no job; None without notes, too. Raises ServiceError."""
    found = kept_score(wanted)
    if found is not None:
        return found
    notes = notes_of(wanted)
    return score(wanted) if notes.notes and not too_long(wanted, notes) else None


def wanted_of(request: Request, access: Access, version: int, author: int) -> ScoreRequest | HttpResponse:
    """Return what the page is to show.

    Raises Http404 for an unknown version or author. Redirects to the page without choices for an unknown choice.
    """
    if max(version, author) >= 2**31:
        raise Http404("This score does not exist.")
    try:
        plain = score_request(access.project, version=version, author_id=author, among=authors_for(access))
    except ServiceError as error:
        raise Http404("This score does not exist.") from error
    choices = choices_of(request.GET)
    if not any(choices.values()):
        return plain
    try:
        return score_request(access.project, version=version, author_id=author, **choices)
    except ServiceError as error:
        messages.warning(request, str(error))
        return redirect("score", access.project.slug, version, author)


class Choices(TypedDict):
    """What a person can choose for a score, as `score_request` takes it."""

    split: str
    into: str
    threshold: str
    types: list[str]
    tokenizer: str
    language: str


def choices_of(data: QueryDict) -> Choices:
    return {
        "split": data.get("split", ""),
        "into": data.get("into", ""),
        "threshold": data.get("threshold", "").strip(),
        "types": data.getlist("type"),
        "tokenizer": data.get("tokenizer", ""),
        "language": data.get("language", ""),
    }


def query_of(wanted: ScoreRequest, **more: object) -> str:
    threshold = "" if wanted.threshold == THRESHOLD else wanted.threshold
    kept: dict[str, object] = {
        "split": wanted.split,
        "into": wanted.into,
        "threshold": threshold,
        "type": wanted.types,
    }
    kept |= {"tokenizer": wanted.tokenizer, "language": wanted.language} | more
    found = {name: value for name, value in kept.items() if value not in ("", None, ())}
    return f"?{urlencode(found, doseq=True)}" if found else ""


def errors_url(wanted: ScoreRequest, **filters: object) -> str:
    slug = wanted.reference.project.slug
    return reverse("score_errors", args=[slug, wanted.reference.number, wanted.author.pk]) + query_of(wanted, **filters)


def category_names(wanted: ScoreRequest) -> dict[str, str]:
    """The names of categories by code: those of the project, or of the label set that the labels are mapped to."""
    project = wanted.reference.project
    if wanted.into:
        return {code: look.name for code, look in label_looks(project, wanted.into).items()}
    return dict(Category.objects.filter(label_set__project=project).order_by().values_list("code", "name"))
