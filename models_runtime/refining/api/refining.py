"""Routes of refinements: list, start, read with its effort."""

from dataclasses import fields
from datetime import datetime
from typing import Annotated

from django.shortcuts import get_object_or_404
from ninja import Field, Query

from annotations.core.access import Access, Can
from annotations.core.api import routes
from annotations.core.api.paging import Page, PageAnswer, Paging, paged_rows
from annotations.jobs.api import JobItem, new_key
from annotations.models import Job, Release
from annotations.release.selectors.releases import release_for
from annotations.text.names import MAX_ID
from models_runtime.backends.refining.state import Component
from models_runtime.models import Refinement
from models_runtime.refining.jobs.model_scores import start_scores
from models_runtime.refining.services.refining import Effort, RefinementChoice, efforts_of, start_refinement

router = routes.ProjectRouter(tags=["Refinements"])
PATH = "/projects/{slug:slug}/refinements"
ASKED = tuple(one.name for one in fields(RefinementChoice))
FIELDS = {name: name for name in ("run", "method", "gold", "name", *ASKED)} | {
    "empty": "run", "exists": "name", "params": "server", "leaves": "may_leave"
}  # fmt: skip


class RefinementItem(routes.Answer):
    """A refinement of the annotations of `source`. `author` has the refined annotation sets."""

    id: int
    author: int = Field(validation_alias="author_id")
    name: str = Field(validation_alias="author.name")
    source: int = Field(validation_alias="source_id")
    source_name: str = Field(validation_alias="source.name")
    method: str
    gold: Annotated[int | None, routes.attribute("number")] = Field(validation_alias="gold_version")
    job: routes.JobNumber
    state: routes.JobStateName
    created_at: datetime


class RefinementOut(RefinementItem):
    effort: Effort


class NewRefinement(routes.Body):
    """`run` is the name of a run, a merged list or a copy with injected errors. `gold`: the version to learn from.

    Without `gold`, it is the newest version, or for injected errors that of the copy. The other fields are for methods
    that ask a language model. Without `server` and `model`, the first ones of the settings are asked. `examples`: how
    many annotations of other patients each question shows. `preset`: a printed prompt of the method single,
    `xu-2026-a2`. `may_leave`: whether the notes may be sent to another machine. Only the agent with a language model
    takes `without`, components to switch off, and `steps` and `tokens`, limits for a note (0: the usual limits).
    """

    run: str = Field(max_length=150)
    method: str = Field(Refinement.Method.OFFLINE.value, max_length=40)
    gold: int | None = Field(None, ge=1, le=2**31 - 1)
    name: str = ""
    server: str = Field("", max_length=40)
    model: str = Field("", max_length=200)
    language: str = Field("", max_length=8)
    examples: int = 0
    may_leave: bool = False
    without: list[str] = Field([], max_length=len(Component))
    steps: int = 0
    tokens: int = 0
    preset: str = Field("", max_length=40)


@router.get(PATH, Can.MANAGE, response=Page[RefinementItem])
def list_refinements(request: routes.ApiRequest, access: Access, paging: Query[Paging]) -> PageAnswer:
    """List the refinements of a project, the newest first."""
    rows = Refinement.objects.filter(project=access.project)
    rows = rows.select_related("author", "source", "gold_version", "job")
    return paged_rows(request, paging, rows, RefinementItem.from_orm, newest_first=True)


@router.post(PATH, Can.MANAGE, response={202: RefinementItem})
def start_refinement_now(access: Access, body: NewRefinement) -> Refinement:
    """Start a refiner that keeps, changes or removes each annotation of a run."""
    with routes.named(FIELDS):
        return start_refinement(
            project=access.project, source=body.run, method=body.method, actor=access.user, name=body.name,
            gold=body.gold, key=new_key(access), asked=RefinementChoice(**body.dict(include=set(ASKED))),
        )  # fmt: skip


@router.get(f"{PATH}/{{int:refinement}}", Can.MANAGE, response=RefinementOut)
def read_refinement(access: Access, refinement: int) -> RefinementOut:
    """Read a refinement with its effort."""
    rows = Refinement.objects.select_related("author", "source", "gold_version", "job")
    row = get_object_or_404(rows, project=access.project, pk=refinement)
    return RefinementOut(**RefinementItem.from_orm(row).dict(), effort=efforts_of([row])[row.pk])


# The route that compares a model on the original and the released texts of a release.


class ScoredBackend(routes.Body):
    """`backend`: the key of a backend such as `rules`, or `model:ID`. `notes`: score only the first so many notes."""

    backend: str = Field(max_length=200)
    notes: int | None = Field(None, ge=1, le=MAX_ID)


OneRelease = Annotated[Release, release_for]


@router.post(
    "/projects/{slug:slug}/releases/{int:release}/model-scores", Can.RELEASE, response={202: JobItem}, tags=["Releases"]
)
def start_model_scores(access: Access, release: OneRelease, body: ScoredBackend) -> Job:
    """Start the job that scores a model on both texts. Its result has the figures."""
    with routes.named({"backend": "backend", "members": "backend", "llm": "backend", "pipeline": "backend"}):
        return start_scores(release=release, backend=body.backend, most_notes=body.notes, actor=access.user)
