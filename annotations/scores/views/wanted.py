"""What the pages of one score have in common: the score that is asked for, and the addresses of its errors."""

from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext_lazy

from annotations.core.access import Access
from annotations.core.errors import ServiceError
from annotations.core.requests import Request
from annotations.scores.rules.errors import ErrorType
from annotations.scores.rules.scorer import THRESHOLD
from annotations.scores.services.asking import Choices, plain_request
from annotations.scores.services.scoring import ScoreRequest, score_request

KINDS = {
    ErrorType.MISSED: gettext_lazy("Missed"),
    ErrorType.SPURIOUS: gettext_lazy("Spurious"),
    ErrorType.LABEL: gettext_lazy("Different label"),
    ErrorType.BOUNDARY: gettext_lazy("Different bounds"),
    ErrorType.BOTH: gettext_lazy("Different label and bounds"),
}


def wanted_of(request: Request, access: Access, version: int, author: int) -> ScoreRequest | HttpResponse:
    """Return what the page is to show.

    Raises Http404 for an unknown version or author. Redirects to the page without choices for an unknown choice.
    """
    plain = plain_request(access, version, author)
    choices = choices_of(request.GET)
    if not any(choices.values()):
        return plain
    try:
        return score_request(access.project, version=version, author_id=author, **choices)
    except ServiceError as error:
        messages.warning(request, str(error))
        return redirect("score", access.project.slug, version, author)


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
