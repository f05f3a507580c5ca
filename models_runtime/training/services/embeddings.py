"""The stack of embeddings of a training: files of word vectors, and character language models of the project."""

from collections.abc import Mapping, Sequence, Set

from django.utils.translation import gettext as _

from annotations.core.services import ServiceError
from annotations.models import GoldVersion, Project
from models_runtime.core import external
from models_runtime.core.model_files import with_weights
from models_runtime.core.registry import CHARACTERS, TRAINABLE, trainable_kind
from models_runtime.core.stages import SELF_TRAINING, chosen_run, learned_from
from models_runtime.core.training_settings import LANGUAGE_MODEL, Value
from models_runtime.models import OF_MODEL, TrainedModel
from models_runtime.models.cards import ModelCard, TrainingParams, WantedEmbedding, WantedRun


def language_models(project: Project) -> list[TrainedModel]:
    """List the project's character language models that a stack can contain, by name."""
    return with_weights(project, CHARACTERS)


def usual_embeddings(project: Project, unseen: Set[int]) -> list[WantedEmbedding]:
    """Return the embeddings of a stack that names none: the newest language model that has not learned from `unseen`.

    Raises ServiceError `embeddings` if there is none.
    """
    models = language_models(project)
    for row in sorted(models, key=lambda row: row.pk, reverse=True):
        if not learned_from(row) & unseen:
            return [{"name": row.name, "model": row.pk}]
    if not models:
        raise _unknown("", models)
    message = _(
        "Every character language model of this project learned from notes that this training must not see before "
        "scoring. Name word vectors as embeddings, or train a language model on the same split."
    )
    raise ServiceError(message, code="embeddings")


def names_in(text: str) -> list[str]:
    """Return the names in the setting `embeddings`, in order."""
    return list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def named_embeddings(project: Project, chosen: Mapping[str, Value], *, base: bool) -> TrainingParams:
    """Return the embeddings that the settings of a training name, if any.

    `base`: the training starts from a model, which brings its own. Raises ServiceError `embeddings` or `characters`.
    """
    language_model, named = str(chosen.get(LANGUAGE_MODEL.key, "")), str(chosen.get("embeddings", ""))
    if base and language_model:
        message = _("A training that starts from a model can't add a language model. Leave the language model empty.")
        raise ServiceError(message, code=LANGUAGE_MODEL.key)
    if base and named:
        message = _("A starting model brings its own embeddings. Leave the embeddings empty.")
        raise ServiceError(message, code="embeddings")
    if language_model:
        wanted = wanted_language_model(project, language_model)
        return {"embeddings": [wanted], "settings": {**chosen, LANGUAGE_MODEL.key: wanted["name"]}}
    return {"embeddings": wanted_embeddings(project, named)} if named else {}


def wanted_embeddings(project: Project, text: str) -> list[WantedEmbedding]:
    """Return the embeddings that the setting names. Raises ServiceError `embeddings`, with the choices."""
    models = language_models(project)
    found: list[WantedEmbedding] = []
    for name in names_in(text):
        model = next((row for row in models if name in (row.name, f"{OF_MODEL}{row.pk}")), None)
        if external.path_of(name):
            found.append({"name": name})
        elif model is not None:
            found.append({"name": model.name, "model": model.pk})
        else:
            raise _unknown(name, models)
    if not found:
        raise _unknown("", models)
    return found


def wanted_language_model(project: Project, name: str) -> WantedEmbedding:
    """Return the language model with this name or id. Raises ServiceError `characters`, with the choices."""
    models = language_models(project)
    for row in models:
        if name in (row.name, f"{OF_MODEL}{row.pk}"):
            return {"name": row.name, "model": row.pk}
    raise ServiceError(
        _("There is no character language model “%(name)s”. Choose one of: %(choices)s.")
        % {"name": name, "choices": ", ".join(row.name for row in models)}
        if models
        else _("This project has no character language model. Train one first, or leave this empty."),
        code=LANGUAGE_MODEL.key,
    )


def _unknown(name: str, models: list[TrainedModel]) -> ServiceError:
    choices = ", ".join([*external.word_files(), *(row.name for row in models)])
    if not choices:
        message = _(
            "There are no embeddings. Copy word vectors to %(folder)s, or train a character language model first."
        )
        return ServiceError(message % {"folder": external.embeddings_home()}, code="embeddings")
    message = (
        _("There are no embeddings “%(name)s”. Choose from these, separated by commas: %(choices)s.")
        if name
        else _("Choose embeddings, separated by commas: %(choices)s.")
    )
    return ServiceError(message % {"name": name, "choices": choices}, code="embeddings")


def missing_files(card: ModelCard) -> list[str]:
    """Return the files of word vectors of a model that this machine lacks."""
    words = [each["name"] for each in card.get("embeddings", []) if each["kind"] == "words"]
    return [name for name in words if external.path_of(name) is None]


# Choose the run from whose labels a training also learns (models_runtime.core.stages).


def wanted_run(
    project: Project, backend: str, name: str, versions: Sequence[GoldVersion], params: TrainingParams
) -> WantedRun:
    """Return the run with this name for a training of this kind. Raises ServiceError `self_training`."""
    kind = trainable_kind(backend)
    if not kind.self_trains:
        able = ", ".join(_(each.title) for each in TRAINABLE.values() if each.self_trains)
        message = _("%(title)s can't learn from labels of a run. Leave out self-training, or choose one of: %(able)s.")
        raise ServiceError(message % {"title": _(kind.title), "able": able}, code=SELF_TRAINING)
    run = chosen_run(project, name.strip(), versions, params)
    return {"run": run.pk, "name": run.author.name}


def in_first_round(model: TrainedModel) -> bool:
    """Whether a self-training has not yet begun its second round, whose model is the one that is kept."""
    return SELF_TRAINING in model.params and not model.losses
