"""Start the comparison of a model on the original and the released texts, from the page of a release."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from annotations.core.access import Can, enter
from annotations.core.errors import ServiceError
from annotations.core.requests import Request
from annotations.jobs.tokens import form_token
from annotations.release.selectors.releases import release_for
from models_runtime.refining.services.relexicalizing.model_scores import start_scores


@require_POST
def surrogate_scores_start(request: Request, slug: str, number: int) -> HttpResponse:
    """POST `backend`: a key such as `rules`, or `model:ID`. Redirects to the job."""
    access = enter(request.user, slug, Can.RELEASE)
    release = release_for(access, number)
    backend, token = request.POST.get("backend", ""), form_token(request)
    try:
        job = start_scores(release=release, backend=backend, actor=access.user, token=token)
    except ServiceError as error:
        messages.error(request, str(error))
        return redirect("release", slug, number)
    return redirect("job", slug, job.number)
