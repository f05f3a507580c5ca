"""Pages of trained models: the list with the forms that train and upload models, and one model."""

import uuid
from collections.abc import Callable
from functools import partial
from itertools import zip_longest
from typing import Any

from django.contrib import messages
from django.db.models import Q
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_POST, require_safe

from annotations.core.access import Access, Can
from annotations.core.addresses import address
from annotations.core.answers import attachment
from annotations.core.forms import attempted, reasons
from annotations.core.requests import (
    Request,
    enter_page,
    error_as_message,
    in_project,
    paged,
    render_part,
    takes_uploads,
)
from annotations.jobs.api import form_key, form_token
from annotations.jobs.services.status import status_of
from annotations.models import AuthorKind
from annotations.notes.selectors.in_context import LabelLook, label_looks
from annotations.scores.rules.intervals import FEW_NOTES
from models_runtime.core import external
from models_runtime.core.gold_sources import languages_of
from models_runtime.core.health import ModelHealth, Workers, lacking
from models_runtime.core.registry import TRAINABLE, TrainableKind, trainable_kind
from models_runtime.core.silver import silver_authors
from models_runtime.core.stages import usable_runs
from models_runtime.core.training_settings import LANGUAGE_MODEL, SURROGATES, Value, setting_texts
from models_runtime.models import Run, TrainedModel, TrainedModelState
from models_runtime.training import forms
from models_runtime.training.services import model_cards, trained
from models_runtime.training.services.calibration import calibration_for, content_of, withdraw
from models_runtime.training.services.embeddings import in_first_round, language_models, missing_files
from models_runtime.training.services.groups import group_of
from models_runtime.training.services.training import all_base_models, end_early, lendable_versions

ROWS = 30
# A calibration that needs no run in this project: made by the model's training, or uploaded with the model's file.
OF_ITSELF = Q(held_out=True) | Q(uploaded=True)


@require_safe
def models(request: Request, slug: str) -> HttpResponse:
    """List the project's models, newest first. Managers also get the forms that train and upload a model."""
    return _models(request, enter_page(request, slug, Can.READ_NOTES))


def _models(
    request: Request, access: Access, train: forms.TrainForm | None = None, upload: forms.UploadModelForm | None = None
) -> HttpResponse:
    """Render the list. A form with errors is given and keeps its values."""
    refused = bool(train or upload)
    train = train or forms.TrainForm(auto_id="train-%s")
    rows = TrainedModel.objects.filter(project=access.project).select_related(
        "project", "gold_version", "job", "created_by"
    )
    page = paged(request, rows.defer("losses"), ROWS)
    versions = access.project.gold_versions.order_by("-number")
    newest = versions.first()
    lendable = lendable_versions(access.project, access.user) if access.can(Can.MANAGE) else []
    used = [newest, *lendable] if newest else []
    languages = sorted({code for version in used for code in languages_of(version) if code})
    folders, models = external.weights(), all_base_models(access.project)
    train.choose(
        versions=versions,
        weights=folders,
        models=models,
        weights_home=external.weights_home(),
        languages=languages,
        also=lendable,
        language_names=[row.name for row in language_models(access.project)],
        runs=[run.author.name for run in usable_runs(access.project)] if access.can(Can.MANAGE) else [],
        silver=[author.name for author in silver_authors(access.project)] if access.can(Can.MANAGE) else [],
    )
    rows_shown = [
        (row, model_cards.headline(row.model.card), model_cards.few_notes_of(row.model.card))
        for row in trained.model_rows(page)
    ]
    context = {
        "page": page,
        "rows": rows_shown,
        "few_notes": any(few for _row, _score, few in rows_shown),
        "versions": versions,
        "kinds": _kinds(),
        "weights_home": external.weights_home(),
        "can_begin": bool(folders or models),
        "languages": languages,
        "token": form_token(request) or uuid.uuid4(),
        "train": train,
        "upload": upload or forms.UploadModelForm(auto_id="upload-%s"),
    }
    return render(request, "training/models.html", context, status=422 if refused else 200)


@in_project(Can.READ_NOTES)
def model(request: Request, access: Access, pk: int) -> HttpResponse:
    """Show one model: the whole page, or for htmx the part that changes during training."""
    return _model(request, access, trained.model_of(access, pk))


def _model(request: Request, access: Access, row: TrainedModel, rename: forms.RenameForm | None = None) -> HttpResponse:
    """Render the model. A form with errors is given and keeps its values."""
    context = {
        "model": row,
        "rename": rename or forms.RenameForm(auto_id="model-%s", initial={"name": row.name}),
        "status": status_of(row.job, access) if row.job else None,
        "trouble": trained.trouble_of(row),
        "headline": model_cards.headline(row.card),
        "better_rules": model_cards.better_rules(row.card),
        "few_notes": model_cards.few_notes_of(row.card),
        "also": model_cards.other_versions(row, access.user),
        "held_out_share": model_cards.held_out_share(row.card),
        "erased_since": model_cards.erased_since(row),
        "one_person": model_cards.is_by_one_person(row),
        "self_trained": model_cards.self_trained(row.card),
        "silver": model_cards.silver(row.card),
        "in_first_round": in_first_round(row),
        "kind": trainable_kind(row.backend),
        "perplexity": None if trainable_kind(row.backend).predicts else model_cards.perplexity(row.card),
        "group": group_of(row),
        "missing_files": missing_files(row.card),
        "embeddings_home": external.embeddings_home(),
        "chose_epoch": model_cards.chose_epoch(row),
        "curve": model_cards.curve_of(row),
        "masking_help": model_cards.masking_help(row),
        "loss_help": model_cards.LOSS_HELP,
        "refitting": row.state == TrainedModelState.TRAINING and "refit_losses" in row.card,
        "settings": setting_texts(trainable_kind(row.backend).settings, _settings(row)),
        "held_out_after": next(reversed(model_cards.held_out_losses(row.card)), None),
        "kept": model_cards.kept_with(row),
        "made_with": model_cards.made_with(row),
        "algorithm": _(trainable_kind(row.backend).algorithms.get(_algorithm(row), _algorithm(row))),
        "calibration": row.calibrations.filter(OF_ITSELF, withdrawn_at=None).order_by("uploaded", "-pk").first(),
        "runs": row.runs.select_related("author").order_by("-pk")[:ROWS],
        "token": uuid.uuid4(),
    }
    return render_part(request, "training/model.html", "training/state.html", context, status=422 if rename else 200)


@in_project(Can.MANAGE, "POST")
def model_train(request: Request, access: Access) -> HttpResponse:
    """Start a training. POST the fields of TrainForm and a `token`, so that a repeated request starts only one.

    After an error, the form keeps its values.
    """
    form = forms.TrainForm(request.POST, auto_id="train-%s")
    of_backend = ("embeddings", LANGUAGE_MODEL.key, SURROGATES.key)
    own = {key: f"{form.backend}-{key}" for key in of_backend} if form.is_valid() else {}
    if models := attempted(form, lambda: form.start(access, form_key(request, access)), forms.REFUSED_AT | own):
        return redirect("model", access.slug, models[0].pk)
    return _models(request, access, train=form)


@takes_uploads(Can.MANAGE)
@in_project(Can.MANAGE, "POST")
def model_upload(request: Request, access: Access) -> HttpResponse:
    """Upload a model. POST `file` and `name` (may be empty)."""
    form = forms.UploadModelForm(request.POST, request.FILES, auto_id="upload-%s")
    if made := attempted(form, lambda: form.start(access), forms.UPLOAD_REFUSED_AT):
        messages.success(request, _told(made))
        return redirect("model", access.slug, made.model.pk)
    return _models(request, access, upload=form)


def _told(made: trained.UploadedModel) -> str:
    if made.new:
        return _("The model was uploaded.")
    if not made.calibrations:
        return _("The project already has this model. Nothing was changed.")
    message = ngettext(
        "The project already has this model. A new calibration from the file was added.",
        "The project already has this model. %(n)d new calibrations from the file were added.",
        made.calibrations,
    )
    return message % {"n": made.calibrations}


@in_project(Can.MANAGE, "POST")
def model_rename(request: Request, access: Access, pk: int) -> HttpResponse:
    """Rename a model. POST `name`."""
    row = trained.model_of(access, pk)
    form = forms.RenameForm(request.POST, auto_id="model-%s")
    act = partial(trained.rename_model, model=row, actor=access.user)
    if attempted(form, lambda: act(name=form.cleaned_data["name"]), {"exists": "name"}):
        return redirect("model", access.slug, row.pk)
    return _model(request, access, row, rename=form)


@require_POST
def model_enough(request: Request, slug: str, pk: int) -> HttpResponse:
    """End the training early and keep the model of the complete epochs."""
    return _change(request, slug, pk, lambda row, access: end_early(model=row))


@require_POST
def model_retire(request: Request, slug: str, pk: int) -> HttpResponse:
    """Retire a model and delete its weights. This can't be undone."""
    return _change(request, slug, pk, lambda row, access: trained.retire_model(model=row, actor=access.user))


def _change(request: Request, slug: str, pk: int, act: Callable[[TrainedModel, Access], TrainedModel]) -> HttpResponse:
    access = enter_page(request, slug, Can.MANAGE)
    row = trained.model_of(access, pk)
    with error_as_message(request):
        act(row, access)
    return redirect("model", slug, row.pk)


@in_project(Can.EXPORT)
def model_file(request: Request, access: Access, pk: int) -> StreamingHttpResponse:
    """Download the model's file. Only people who may export notes can, because its lexicon contains words of notes."""
    row = trained.model_of(access, pk)
    stored = row.stored_file
    if stored is None:
        raise Http404("This model has no file.")
    return attachment(request, access, stored, content=content_of(row, stored))


def _kinds() -> list[tuple[str, TrainableKind, str]]:
    """Return key, kind, and a message if neither a worker nor this machine has the library that the kind needs."""
    workers = Workers()
    healths = [(key, kind, workers.health(key, kind, kind.queue)) for key, kind in TRAINABLE.items()]
    return [
        (key, kind, health.message if health.state is ModelHealth.LIBRARY or lacking(kind) else "")
        for key, kind, health in healths
    ]


def _algorithm(row: TrainedModel) -> str:
    return str(row.params.get("algorithm") or row.card.get("algorithm") or "")


def _settings(row: TrainedModel) -> dict[str, Value]:
    """Return the settings that were given, without the embeddings if the card describes them."""
    given = row.params.get("settings", {})
    return {key: value for key, value in given.items() if key != "embeddings" or "embeddings" not in row.card}


# Pages of calibrations: one calibration, starting and withdrawing it.


@in_project(Can.READ_NOTES)
def calibration(request: Request, access: Access, pk: int) -> HttpResponse:
    """Show one calibration: the reliability diagram, its groups, and figures by label."""
    row = calibration_for(access, pk)
    looks = label_looks(access.project)
    context = {
        "calibration": row,
        "few": FEW_NOTES,
        "groups": list(zip_longest(row.figures["before"]["groups"], row.figures["after"]["groups"])),
        "labels": [line | {"look": _look(looks, line)} for line in row.figures["labels"]],
        "runs": row.runs.select_related("author").order_by("-pk")[:30],
    }
    return render(request, "training/calibration/calibration.html", context)


def _look(looks: dict[str, LabelLook], line: dict[str, Any]) -> LabelLook:
    return looks.get(line["label"]) or LabelLook(line["label"], line["label"])


@in_project(Can.MANAGE, "POST")
def calibration_start(request: Request, access: Access) -> HttpResponse:
    """Start the job. POST `author` (of the run), `gold` (number of a version) and a `token` of the form."""
    form = forms.CalibrationForm(request.POST)
    if job := attempted(form, lambda: form.start(access, form_token(request)), {"version": "gold"}):
        return redirect("job", access.slug, job.number)
    # The form is on a run's page, which belongs to a higher feature. So errors are shown as messages on that page.
    for reason in reasons(form):
        messages.error(request, reason)
    author = form.cleaned_data.get("author")
    run = Run.objects.filter(project=access.project, author=author, author__kind=AuthorKind.RUN).first()
    return redirect(address("models.run", access.slug, run.pk) if run else address("models.runs", access.slug))


@in_project(Can.MANAGE, "POST")
def calibration_withdraw(request: Request, access: Access, pk: int) -> HttpResponse:
    """Withdraw a calibration. New runs use the previous one, if any."""
    row = calibration_for(access, pk)
    withdraw(calibration=row, actor=access.user)
    messages.success(request, _("The calibration was withdrawn."))
    return redirect("calibration", access.slug, row.pk)
