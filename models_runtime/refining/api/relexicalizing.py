"""The route that compares a model on the original and the released texts of a release."""

from django.http import HttpResponse
from ninja import Field, Router
from ninja.responses import Status

from annotations.core.access import Can
from annotations.core.api.problems import named
from annotations.core.api.requests import ApiRequest, enter
from annotations.core.api.schemas import Body
from annotations.jobs.api import JobItem, started
from annotations.release.selectors.releases import release_for
from models_runtime.refining.services.relexicalizing.model_scores import start_scores

router = Router(tags=["Releases"])


class ScoredBackend(Body):
    """The key of a backend such as `rules`, or `model:ID`."""

    backend: str = Field(max_length=200)


@router.post("/projects/{slug:slug}/releases/{int:release}/model-scores", response={202: JobItem})
def start_model_scores(
    request: ApiRequest, response: HttpResponse, slug: str, release: int, body: ScoredBackend
) -> Status[JobItem]:
    """Start the job that scores a model on both texts. Its result has the figures."""
    access = enter(request, slug, Can.RELEASE)
    found = release_for(access, release)
    with named({"backend": "backend", "members": "backend", "llm": "backend", "pipeline": "backend"}):
        job = start_scores(release=found, backend=body.backend, actor=access.user)
    return started(response, slug, job)
