"""Start trainings. The work itself is in models_runtime.training.jobs.training."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from django.db.models import Max
from django.utils.translation import gettext as _

from annotations.core.services import ServiceError, check_choice
from annotations.gold.selectors import frozen_version
from annotations.jobs.services.queue import locked, start_for, started_with
from annotations.models import Document, GoldVersion, JobState, Membership, Project, Role, User
from annotations.text.names import whole_number
from models_runtime.backends.augmenting import replaceable
from models_runtime.core import external
from models_runtime.core.gold_sources import gold_sources, languages_of, lending_project, unseen_by
from models_runtime.core.model_files import free_name, good_model_name, missing_labels, name_in_use, with_weights
from models_runtime.core.registry import TRAINABLE, trainable_kind
from models_runtime.core.silver import wanted_silver
from models_runtime.core.stages import check_hold_out
from models_runtime.core.training_settings import SURROGATES, checked
from models_runtime.models import OF_MODEL, TrainedModel, TrainedModelState
from models_runtime.models.cards import TrainingParams
from models_runtime.training.events import GOLD_LENT, MODEL_TRAINED, GoldLent, ModelTrained
from models_runtime.training.services.embeddings import in_first_round, named_embeddings, usual_embeddings, wanted_run

DEFAULT = next(iter(TRAINABLE))
MOST_ITERATIONS = 1000
MOST_ADAPT = 100
# The largest sentence grouping factor in Catelli 2021.
MOST_GROUPED = 32


@dataclass(frozen=True)
class TrainingSettings:
    """Settings of a training. Missing settings have the kind's default.

    `also`: gold versions of other projects, as “project:number”.
    `base`: a model of the same kind to start from, or for a transformer a folder of weights. `adapt`: epochs of
    language pre-training.
    `grouping`: sentences per sequence. `language`: only notes in this language. The strategies of Catelli 2021 are
    models of one language, of all languages, or of one language after the other by `base`. `settings`: those of the
    kind (`TrainableKind.settings`), by key. `refit`: once the hold-out has chosen the iterations, train again on all
    notes, test notes aside. `self_training`: the name of a run, from whose sure labels of notes without gold the model
    learns, too. `silver`: the name of the author of pairs of decisions from which it learns, too. `random_split`: the
    seed of a hold-out of its own, see training_notes.
    """

    backend: str = DEFAULT
    algorithm: str = ""
    iterations: int | None = None
    base: str = ""
    adapt: int = 0
    grouping: int = 0
    language: str = ""
    also: Sequence[str] = ()
    settings: Mapping[str, object] = field(default_factory=dict)
    refit: bool = False
    self_training: str = ""
    silver: str = ""
    random_split: int | None = None


def start_training(
    *, project: Project, gold: int, actor: User | None, key: str, name: str = "", **given: Any
) -> TrainedModel:
    """Start training a model on a frozen gold version: make its row and its job. `given` as TrainingSettings.

    A repeated call with the same `key` returns the same model, so that a double click starts only one training.
    Raises ServiceError for an unknown version, algorithm, base or setting, a version without spans, a run that can't be
    learned from, and a name that exists.
    """
    settings = TrainingSettings(**given)
    backend = settings.backend
    params = _params(project, settings)
    also = chosen_versions(project, settings.also, actor)
    version = _version(project, gold, params.get("language", ""), also, spans=trainable_kind(backend).predicts)
    if also:
        params["also"] = [one.pk for one in also]
        gold_sources(project, [version, *also], params)  # Raises ServiceError for labels that can't be mapped.
    if trainable_kind(backend).stacked and not settings.base and "embeddings" not in params:
        params["embeddings"] = usual_embeddings(project, unseen_by([version, *also], params))
    check_hold_out(project, params, [version, *also])
    if settings.self_training:
        params["self_training"] = wanted_run(project, backend, settings.self_training, [version, *also], params)
    if settings.silver:
        params["silver"] = wanted_silver(project, backend, settings.silver, [version, *also], params)
    name = good_model_name(name) if name.strip() else ""
    with locked(project, name_in_use(name)):
        if existing := started_with(TrainedModel, project, "train", key):
            return existing
        row = TrainedModel.objects.create(
            project=project,
            name=name or free_name(project, backend),
            backend=backend,
            params=params,
            gold_version=version,
            created_by=actor,
        )
        newest = Document.objects.filter(project=project).aggregate(newest=Max("pk"))["newest"] or 0
        started = {"model_id": row.pk, "newest": newest}
        start_for(row, "train", key, actor, started, queue=trainable_kind(backend).queue)
        data: ModelTrained = {"model": row.pk, "gold": version.number, "algorithm": params["algorithm"]}
        MODEL_TRAINED.record(actor=actor, project_id=project.pk, data=data)
        for one in also:
            lent: GoldLent = {"gold": one.number, "borrower": project.pk}
            GOLD_LENT.record(actor=actor, project_id=one.project_id, data=lent)
    return row


def end_early(*, model: TrainedModel) -> TrainedModel:
    """Request that a training ends after its complete epochs so far. Safe to repeat.

    Raises ServiceError `state` if the training is not running or refits already, and `kind` if its kind has no epochs.
    """
    if not trainable_kind(model.backend).by_epoch:
        raise ServiceError(_("This type of model can't end training early. You can only cancel it."), code="kind")
    if model.state == TrainedModelState.TRAINING and "refit_losses" in model.card:
        raise ServiceError(
            _("The hold-out has chosen the epochs, and the model now learns from all notes. You can only cancel it."),
            code="state",
        )
    if model.state == TrainedModelState.TRAINING and in_first_round(model):
        raise ServiceError(
            _("The first round of self-training is not complete. Wait for the second one, or cancel the training."),
            code="state",
        )
    running = TrainedModel.objects.filter(pk=model.pk, state=TrainedModelState.TRAINING, job__state=JobState.RUNNING)
    if not running.update(enough=True):
        raise ServiceError(_("This training is not running. Reload the page."), code="state")
    model.refresh_from_db()
    return model


def base_models(project: Project, backend: str) -> list[TrainedModel]:
    """List the project's models that a training of this kind can start from, by name."""
    return with_weights(project, backend, *TRAINABLE[backend].starts_from)


def all_base_models(project: Project) -> list[TrainedModel]:
    """List the models that a training can start from, of all kinds."""
    return [row for key in TRAINABLE for row in with_weights(project, key)]


def _params(project: Project, settings: TrainingSettings) -> TrainingParams:
    try:
        kind = trainable_kind(settings.backend)
    except LookupError as error:
        raise ServiceError(str(error), code="backend") from error
    algorithm, iterations = settings.algorithm or next(iter(kind.algorithms)), settings.iterations
    wrong = _("There is no algorithm “%(name)s”. Choose one of: %(choices)s.")
    check_choice(algorithm, kind.algorithms, wrong, code="algorithm")
    if iterations is not None and not 1 <= iterations <= MOST_ITERATIONS:
        message = _("Iterations must be between 1 and %(most_iterations)s, not %(iterations)s.")
        raise ServiceError(message % {"iterations": iterations, "most_iterations": MOST_ITERATIONS}, code="iterations")
    if not 0 <= settings.adapt <= MOST_ADAPT:
        message = _("Language pre-training epochs must be between 0 and %(most_adapt)s, not %(adapt)s.")
        raise ServiceError(message % {"adapt": settings.adapt, "most_adapt": MOST_ADAPT}, code="adapt")
    if settings.adapt and not kind.adapts:
        able = ", ".join(each.title for each in TRAINABLE.values() if each.adapts)
        message = _("%(title)s has no language pre-training. Set its epochs to 0, or choose one of: %(able)s.")
        raise ServiceError(message % {"title": kind.title, "able": able}, code="adapt")
    if settings.refit and not kind.predicts:
        message = _("%(title)s can't be refitted, because no F1 on held-out notes chooses its epochs. Leave out refit.")
        raise ServiceError(message % {"title": _(kind.title)}, code="refit")
    if settings.grouping and not kind.grouped:
        message = _("%(title)s doesn't group sentences. Leave the number of sentences empty.")
        raise ServiceError(message % {"title": kind.title}, code="grouping")
    if not 0 <= settings.grouping <= MOST_GROUPED:
        message = _("Sentences per sequence must be between 1 and %(most_grouped)s, not %(grouping)s.")
        raise ServiceError(message % {"grouping": settings.grouping, "most_grouped": MOST_GROUPED}, code="grouping")
    given = {name: getattr(settings, name) for name in ("grouping", "iterations", "language", "adapt", "refit")}
    params = cast(TrainingParams, {"algorithm": algorithm} | {name: value for name, value in given.items() if value})
    if settings.random_split is not None:
        params["random_split"] = settings.random_split
    if chosen := checked(kind.settings, settings.settings, title=kind.title):
        params["settings"] = chosen
    if chosen.get(SURROGATES.key) and not replaceable(project.label_set.key):
        message = _("Surrogates can only be made for a label set that comes with the program. Set their copies to 0.")
        raise ServiceError(message, code=SURROGATES.key)
    params |= named_embeddings(project, chosen, base=bool(settings.base))
    if kind.based or settings.base:
        return params | _base(project, settings, folders=kind.based)
    return params


def _base(project: Project, settings: TrainingSettings, *, folders: bool) -> TrainingParams:
    """Return the name of the starting weights, and the id if they are a model of the project.

    `folders`: a folder of weights will do too. Raises ServiceError `base`.
    """
    models = base_models(project, settings.backend)
    model = next((row for row in models if settings.base in (f"{OF_MODEL}{row.pk}", row.name)), None)
    if model is not None:
        if missing := missing_labels(model, model.card.get("labels", [])):
            raise ServiceError(
                _("The model “%(name)s” has labels that this project doesn't have: %(missing)s. Choose another model.")
                % {"name": model.name, "missing": missing},
                code="base",
            )
        return {"base": model.name, "base_model": model.pk}
    if folders and external.weights_named(settings.base) is not None:
        return {"base": settings.base}
    choices = ", ".join([*(row.name for row in external.weights() if folders), *(row.name for row in models)])
    if not choices and not folders:
        message = _("This project has no ready model of this type to start from. Train one first, or leave this empty.")
        raise ServiceError(message, code="base")
    if not choices:
        message = _("There are no starting weights. Copy a folder with weights to %(folder)s.")
        raise ServiceError(message % {"folder": external.weights_home()}, code="base")
    message = (
        _("There are no weights “%(base)s”. Choose one of: %(choices)s.")
        if settings.base
        else _("Choose starting weights: %(choices)s.")
    )
    raise ServiceError(message % {"base": settings.base, "choices": choices}, code="base")


def chosen_versions(project: Project, words: Sequence[str], actor: User | None) -> list[GoldVersion]:
    """Return the versions of other projects that the words “project:number” name.

    Raises ServiceError `also` for a word of another form, a project that the person doesn't manage, one that is
    archived or named twice, the project itself, and an unknown version.
    """
    found: list[GoldVersion] = []
    for word in dict.fromkeys(words):
        slug, _colon, number = word.rpartition(":")
        wanted = whole_number(number)
        if not slug or wanted is None:
            message = _("Name a gold version of another project as PROJECT:NUMBER, such as ward-2:1, not “%(word)s”.")
            raise ServiceError(message % {"word": word[:60]}, code="also")
        if slug == project.slug or any(slug == one.project.slug for one in found):
            message = _("A training uses one gold version of each project, so “%(word)s” can't be added.")
            raise ServiceError(message % {"word": word[:60]}, code="also")
        lender = lending_project(slug, actor)
        version = GoldVersion.objects.select_related("project__label_set").filter(project=lender, number=wanted).first()
        if version is None:
            numbers = lender.gold_versions.order_by("number").values_list("number", flat=True)
            message = _("The project “%(slug)s” has no gold version %(number)s. Frozen versions: %(choices)s.")
            about = {"slug": slug, "number": wanted, "choices": ", ".join(map(str, numbers)) or _("none yet")}
            raise ServiceError(message % about, code="also")
        found.append(version)
    return found


def lendable_versions(project: Project, person: User) -> list[GoldVersion]:
    """List the gold versions with spans of the other open projects that the person manages, newest first."""
    managed = Membership.objects.filter(user=person, role=Role.MANAGER, active=True).values("project")
    rows = GoldVersion.objects.filter(project__in=managed, project__archived_at=None, span_count__gt=0)
    return list(rows.exclude(project=project).select_related("project").order_by("project__name", "-number"))


def _version(project: Project, number: int, language: str, also: Sequence[GoldVersion], *, spans: bool) -> GoldVersion:
    """Return the version. `spans`: the training needs spans. Raises ServiceError `version` or `language`."""
    version = frozen_version(project, number)
    if spans and not version.span_count:
        message = _("Gold version %(number)s has no spans to learn from. Choose another version.")
        raise ServiceError(message % {"number": number}, code="version")
    languages = [code for one in (version, *also) for code in languages_of(one)]
    if language and language not in languages:
        raise ServiceError(
            _("Gold version %(number)s has no notes in “%(language)s”. Its languages: %(languages)s.")
            % {
                "number": number,
                "language": language,
                "languages": ", ".join(sorted({*languages} - {""})) or _("unknown"),
            },
            code="language",
        )
    return version
