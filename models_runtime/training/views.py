"""Trained models: the list with the forms that make more of them, each one's card, and its buttons."""

import uuid
from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.cache import patch_vary_headers
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotations.core.access import Access, Can, enter
from annotations.core.errors import ServiceError
from annotations.core.refusals import sentence
from annotations.core.requests import Request, number, takes_uploads
from annotations.jobs.services.status import status_of
from annotations.jobs.tokens import form_key
from annotations.transfer.services.sources import megabytes
from annotations.transfer.views.files import attachment
from models_runtime.core import weights
from models_runtime.core.abilities import lacking
from models_runtime.core.gold_notes import languages_of
from models_runtime.core.health import State, Workers
from models_runtime.core.registry import TRAINABLE, TrainableKind, trainable_kind
from models_runtime.models import TrainedModel
from models_runtime.training.services.model_cards import headline
from models_runtime.training.services.trained import model_rows, rename_model, retire_model, trouble_of, upload_model
from models_runtime.training.services.training import Asked, begin_with, end_early, start_training

ROWS = 30
# The fields of the form that trains a model.
TO_TRAIN = ("gold", "algorithm", "base", "adapt", "grouping", "language", "name")


@require_safe
def models(request: Request, slug: str) -> HttpResponse:
    """The project's models, newest first; for managers also the forms to train and to upload one."""
    return _models(request, enter(request.user, slug, Can.READ_NOTES))


def _models(request: Request, access: Access, refused: str = "") -> HttpResponse:
    """With what was filled in to train one, where it was refused."""
    rows = TrainedModel.objects.filter(project=access.project).select_related(
        "project", "gold_version", "job", "created_by"
    )
    page = Paginator(rows.defer("losses"), ROWS).get_page(number(request.GET, "page"))
    versions = access.project.gold_versions.filter(span_count__gt=0).order_by("-number")
    newest = versions.first()
    context = {
        "access": access,
        "page": page,
        "rows": [(row, headline(row.model.card)) for row in model_rows(page)],
        "versions": versions,
        "kinds": _kinds(),
        "weights": weights.weights(),
        "weights_home": weights.home(),
        "begin_with": [row for key, kind in TRAINABLE.items() if kind.based for row in begin_with(access.project, key)],
        "languages": sorted(filter(None, languages_of(newest))) if newest else [],
        "token": uuid.uuid4(),
        "limit_words": megabytes(settings.UPLOAD_MAX_BYTES),
        "refused": refused,
        "filled": {name: request.POST.get(name, "")[:200] for name in TO_TRAIN} if refused else {},
    }
    return render(request, "training/models.html", context, status=422 if refused else 200)


@require_safe
def model(request: Request, slug: str, pk: int) -> HttpResponse:
    """One model: the page, or for htmx the part of it that changes while it is being trained."""
    access = enter(request.user, slug, Can.READ_NOTES)
    row = _model_of(access, pk)
    context: dict[str, Any] = {
        "access": access,
        "model": row,
        "status": status_of(row.job, access) if row.job else None,
        "trouble": trouble_of(row),
        "headline": headline(row.card),
        "kind": trainable_kind(row.backend),
        "algorithm": _(trainable_kind(row.backend).algorithms.get(_algorithm(row), _algorithm(row))),
        "calibration": row.calibrations.filter(held_out=True, withdrawn_at=None).order_by("-pk").first(),
        "runs": row.runs.select_related("author").order_by("-pk")[:ROWS],
        "token": uuid.uuid4(),
    }
    response = render(request, "training/state.html" if request.htmx else "training/model.html", context)
    patch_vary_headers(response, ["HX-Request"])
    return response


@require_POST
def model_train(request: Request, slug: str) -> HttpResponse:
    """POST `gold` (a version's number), `algorithm`, `name` (may be empty) and a `token` that marks the form.

    `algorithm` is `kind:algorithm`, or an algorithm of the default kind. `base` is for a kind that begins with
    weights, `adapt` for one that can learn the notes' language first, `grouping` for one that reads by sentences; the
    others leave them aside. `language` may be empty.
    What is refused is said above the form, which keeps what was chosen.
    """
    access = enter(request.user, slug, Can.MANAGE)
    kind, _colon, algorithm = request.POST.get("algorithm", "")[:40].rpartition(":")
    try:
        row = start_training(
            project=access.project,
            gold=number(request.POST, "gold") or 0,
            actor=access.user,
            key=form_key(request, access),
            **_asked(request, kind or next(iter(TRAINABLE)), algorithm),
            name=request.POST.get("name", "")[:200],
        )
    except ServiceError as error:
        return _models(request, access, refused=sentence(error))
    return redirect("model", slug, row.pk)


def _asked(request: Request, backend: str, algorithm: str) -> Asked:
    """The form has one field of each for all kinds: it counts where the chosen kind has a use for it."""
    kind = TRAINABLE.get(backend)
    based, adapts, grouped = (kind.based, kind.adapts, kind.grouped) if kind else (False, "", False)
    return Asked(
        backend=backend,
        algorithm=algorithm,
        base=request.POST.get("base", "")[:100] if based else "",
        adapt=(number(request.POST, "adapt") or 0) if adapts else 0,
        grouping=(number(request.POST, "grouping") or 0) if grouped else 0,
        language=request.POST.get("language", "")[:8],
    )


@takes_uploads
@require_POST
def model_upload(request: Request, slug: str) -> HttpResponse:
    """POST `file` and `name` (may be empty)."""
    access = enter(request.user, slug, Can.MANAGE)
    uploaded = request.FILES.get("file")
    if uploaded is None or uploaded.file is None:
        messages.error(request, _("Choose a model's file."))
        return redirect("models", slug)
    try:
        row = upload_model(
            project=access.project,
            content=uploaded.file,
            actor=access.user,
            name=request.POST.get("name", "")[:200],
        )
    except ServiceError as error:
        messages.error(request, sentence(error))
        return redirect("models", slug)
    messages.success(request, _("The model was taken."))
    return redirect("model", slug, row.pk)


@require_POST
def model_rename(request: Request, slug: str, pk: int) -> HttpResponse:
    """POST `name`."""
    name = request.POST.get("name", "")[:200]
    return _change(request, slug, pk, lambda row, access: rename_model(model=row, name=name, actor=access.user))


@require_POST
def model_enough(request: Request, slug: str, pk: int) -> HttpResponse:
    """End the training early, with what it has learned so far."""
    return _change(request, slug, pk, lambda row, access: end_early(model=row))


@require_POST
def model_retire(request: Request, slug: str, pk: int) -> HttpResponse:
    """Out of use, its weights deleted; there is no way back."""
    return _change(request, slug, pk, lambda row, access: retire_model(model=row, actor=access.user))


def _change(request: Request, slug: str, pk: int, act: Callable[[TrainedModel, Access], TrainedModel]) -> HttpResponse:
    access = enter(request.user, slug, Can.MANAGE)
    row = _model_of(access, pk)
    try:
        act(row, access)
    except ServiceError as error:
        messages.error(request, sentence(error))
    return redirect("model", slug, row.pk)


@require_safe
def model_file(request: Request, slug: str, pk: int) -> StreamingHttpResponse:
    """The model's zip. Its lexicon holds words of notes, so it is for those who may export them."""
    access = enter(request.user, slug, Can.EXPORT)
    row = _model_of(access, pk)
    stored = row.stored_file
    if stored is None:
        raise Http404("this model has no file")
    return attachment(request, access, stored)


def _kinds() -> list[tuple[str, TrainableKind, str]]:
    """Key, kind, and what its trainings would fail for: a library that no worker has, nor this machine."""
    workers = Workers()
    healths = [(key, kind, workers.health(key, kind, kind.queue)) for key, kind in TRAINABLE.items()]
    return [
        (key, kind, health.words if health.state is State.LIBRARY or lacking(kind) else "")
        for key, kind, health in healths
    ]


def _algorithm(row: TrainedModel) -> str:
    return str(row.params.get("algorithm") or row.card.get("algorithm") or "")


def _model_of(access: Access, pk: int) -> TrainedModel:
    rows = TrainedModel.objects.select_related(
        "project", "gold_version", "stored_file", "job__created_by", "created_by"
    )
    return get_object_or_404(rows, project=access.project, pk=pk)
