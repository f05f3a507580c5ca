"""The stack of embeddings of a training: files of word vectors, and character language models of the project."""

from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.models import Project
from models_runtime.core import embeddings
from models_runtime.core.registry import CHARACTERS
from models_runtime.models import OF_MODEL, TrainedModel
from models_runtime.models.cards import ModelCard, WantedEmbedding


def language_models(project: Project) -> list[TrainedModel]:
    """List the project's character language models that a stack can contain, by name."""
    rows = TrainedModel.objects.filter(project=project, backend=CHARACTERS, state=TrainedModel.State.READY)
    return list(rows.exclude(stored_file=None).order_by("name"))


def names_in(text: str) -> list[str]:
    """Return the names in the setting `embeddings`, in order."""
    return list(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))


def wanted_embeddings(project: Project, text: str) -> list[WantedEmbedding]:
    """Return the embeddings that the setting names. Raises ServiceError `embeddings`, with the choices."""
    models = language_models(project)
    found: list[WantedEmbedding] = []
    for name in names_in(text):
        model = next((row for row in models if name in (row.name, f"{OF_MODEL}{row.pk}")), None)
        if embeddings.path_of(name):
            found.append({"name": name})
        elif model is not None:
            found.append({"name": model.name, "model": model.pk})
        else:
            raise _unknown(name, models)
    if not found:
        raise _unknown("", models)
    return found


def _unknown(name: str, models: list[TrainedModel]) -> ServiceError:
    choices = ", ".join([*embeddings.word_files(), *(row.name for row in models)])
    if not choices:
        message = _(
            "There are no embeddings. Copy word vectors to %(folder)s, or train a character language model first."
        )
        return ServiceError(message % {"folder": embeddings.home()}, code="embeddings")
    message = (
        _("There are no embeddings “%(name)s”. Choose of these, with commas between them: %(choices)s.")
        if name
        else _("Choose embeddings, with commas between them: %(choices)s.")
    )
    return ServiceError(message % {"name": name, "choices": choices}, code="embeddings")


def missing_files(card: ModelCard) -> list[str]:
    """Return the files of word vectors of a model that this machine lacks."""
    words = [each["name"] for each in card.get("embeddings", []) if each["kind"] == "words"]
    return [name for name in words if embeddings.path_of(name) is None]
