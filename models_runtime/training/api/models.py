"""Routes of trained models: list, read, upload, download, rename, retire, and end a training early."""

from datetime import datetime
from typing import Annotated, Any, Self

from django.http import Http404, StreamingHttpResponse
from ninja import Field, File, Form, Query, Schema, UploadedFile

from annotations.core.access import Access, Can
from annotations.core.answers import attachment
from annotations.core.api.mount import sends
from annotations.core.api.paging import Page, PageAnswer, Paging, paged_rows
from annotations.core.api.routes import ApiRequest, Body, ProjectRouter, check, named
from annotations.core.requests import takes_uploads
from annotations.scores.rules.operating import OperatingPoint
from annotations.scores.rules.table import FullyMasked
from models_runtime.models import TrainedModel
from models_runtime.models.cards import Refit
from models_runtime.training.forms import UPLOAD_REFUSED_AT, RenameForm, UploadModelForm
from models_runtime.training.services.calibration import content_of
from models_runtime.training.services.groups import group_of
from models_runtime.training.services.model_cards import erased_since, other_versions, summary
from models_runtime.training.services.trained import model_of, rename_model, retire_model
from models_runtime.training.services.training import end_early

router = ProjectRouter(tags=["Models"])
PATH = "/projects/{slug:slug}/models"
OneModel = Annotated[TrainedModel, model_of]


class SelfTrainedOut(Schema):
    """What a model learned from `notes` without gold, of `read` that were labeled, first by `run` and its `models`.

    Each counts `weight` times as much as a gold note. `spans`: the labels in the last round.
    """

    run: str
    models: list[str]
    notes: int
    read: int
    spans: int
    weight: float


class SilverOut(Schema):
    """What a model learned from `notes` without gold, whose `spans` of this author nobody had reviewed."""

    author: str
    notes: int
    spans: int


class ModelItem(Schema):
    """A trained model. `state` is training, ready, failed or retired; `job` is the number of its training.

    `f1` is that of exact spans by label on held-out notes; `perplexity` is only of language models. `trouble` says why
    a ready model can't run. `notes`, `held_out` and all figures are those of the held-out model, also after a `refit`.
    `random_split`: the seed of a hold-out that was drawn for this training. `refit_elsewhere`: of an uploaded model,
    how many of its notes had chosen the iterations of a refit.
    """

    id: int
    name: str
    kind: str
    state: str
    job: int | None
    gold: int | None
    algorithm: str | None
    notes: int | None
    held_out: int | None
    random_split: int | None
    f1: float | None
    perplexity: float | None
    refit: Refit | None
    refit_elsewhere: int | None
    self_training: SelfTrainedOut | None
    silver: SilverOut | None
    trouble: str
    created_at: datetime

    @classmethod
    def of(cls, model: TrainedModel, **more: Any) -> Self:
        own = {"id": model.pk, "name": model.name, "kind": model.backend, "created_at": model.created_at}
        job = model.job.number if model.job else None
        return cls.model_validate(summary(model) | own | {"job": job} | more)


class OtherGold(Schema):
    """Gold of another project from which the model learned; its name is null for people who aren't members there."""

    project: str | None
    gold: int


class LabelOut(Schema):
    """Exact spans of a label on held-out notes. `fully_masked` is null for a model of an older version."""

    label: str
    category: str
    precision: float | None
    recall: float | None
    f1: float | None
    gold: int
    predicted: int
    fully_masked: FullyMasked | None = None


class ModelOut(ModelItem):
    """A model with its figures. `levels` are precision, recall and F1 by level, `hold_out` F1 after each epoch.

    `labels` are the figures of each label, with its fully masked notes.

    `thresholds` is the curve from which a run can choose its masking threshold; empty without probabilities.
    `group` are the trainings of the same settings with other seeds or parts, with mean and deviation of their F1.
    `erased_since`: notes of its gold were erased since; its weights may still contain words of them.
    """

    also: list[OtherGold]
    sha256: str | None
    seconds: float | None
    few_notes: dict[str, Any] | None
    character_recall: float | None
    levels: dict[str, Any]
    labels: list[LabelOut]
    thresholds: list[OperatingPoint]
    losses: list[float]
    hold_out: list[float]
    held_out_losses: list[float]
    kept: list[str]
    group: list[dict[str, Any]]
    erased_since: bool


class ModelName(Body):
    name: str = Field(max_length=80)


class UploadOptions(Schema):
    """The name of the model in this project; empty: a number."""

    name: str = ""


@router.get(PATH, Can.READ_NOTES, response=Page[ModelItem])
def list_models(request: ApiRequest, access: Access, paging: Query[Paging]) -> PageAnswer:
    """List the trained models of a project, the newest first."""
    rows = TrainedModel.objects.filter(project=access.project).select_related("project", "gold_version", "job")
    return paged_rows(request, paging, rows.defer("losses"), ModelItem.of, newest_first=True)


@router.get(f"{PATH}/{{int:model}}", Can.READ_NOTES, response=ModelOut)
def read_model(access: Access, model: OneModel) -> ModelOut:
    """Read a model with its figures."""
    return _shown(access, model)


@router.post(f"{PATH}/files", Can.MANAGE, response={201: ModelItem})
@takes_uploads(Can.MANAGE)
def upload_model_file(
    request: ApiRequest, access: Access, options: Form[UploadOptions], file: File[UploadedFile]
) -> ModelItem:
    """Upload a model file that deidreview wrote, with its calibrations.

    A file that the project has already gives the same model, to which calibrations of other revisions are added.
    """
    form = UploadModelForm({"name": options.name}, request.FILES)
    check(form)
    with named({"name": "name"} | UPLOAD_REFUSED_AT):
        made = form.start(access)
    return ModelItem.of(made.model)


@router.get(f"{PATH}/{{int:model}}/file", Can.EXPORT, openapi_extra=sends("application/zip"))
def download_model(request: ApiRequest, access: Access, model: OneModel) -> StreamingHttpResponse:
    """Download a model, with the calibrations that its runs use. Its file contains words of notes.

    The audit log records it.
    """
    if model.stored_file is None:
        raise Http404("This model has no file.")
    return attachment(request, access, model.stored_file, content=content_of(model, model.stored_file))


@router.patch(f"{PATH}/{{int:model}}", Can.MANAGE, response=ModelItem)
def change_model(access: Access, model: OneModel, body: ModelName) -> ModelItem:
    """Rename a model. Its runs keep their names."""
    wanted = check(RenameForm(body.dict()))
    with named({"name": "name", "exists": "name"}):
        rename_model(model=model, name=wanted["name"], actor=access.user)
    return ModelItem.of(model_of(access, model.pk))


@router.post(f"{PATH}/{{int:model}}/retire", Can.MANAGE, response=ModelItem)
def retire_model_now(access: Access, model: OneModel) -> ModelItem:
    """Retire a model and delete its weights. This can't be undone."""
    retire_model(model=model, actor=access.user)
    return ModelItem.of(model_of(access, model.pk))


@router.post(f"{PATH}/{{int:model}}/enough", Can.MANAGE, response=ModelItem)
def end_training_early(access: Access, model: OneModel) -> ModelItem:
    """End a training after its complete epochs so far, and keep the model."""
    end_early(model=model)
    return ModelItem.of(model_of(access, model.pk))


def _shown(access: Access, model: TrainedModel) -> ModelOut:
    also = [
        OtherGold(project=one["project"].slug if one["project"] else None, gold=one["of"]["gold"])
        for one in other_versions(model, access.user)
    ]
    return ModelOut.of(
        model, also=also, losses=model.losses, hold_out=model.hold_out, erased_since=erased_since(model),
        group=[row.as_dict() for row in group_of(model)],
    )  # fmt: skip
