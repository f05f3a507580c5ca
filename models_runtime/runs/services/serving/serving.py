"""Which model is served, and to whom."""

from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.models import Project, User
from models_runtime.backends.base import Backend, BackendError, OfPatients
from models_runtime.core.model_files import load_backend, load_model
from models_runtime.runs.events import MODEL_SERVED
from models_runtime.runs.services.backends import chosen
from models_runtime.runs.services.serving.answering import Answering
from models_runtime.runs.services.serving.keys import tokens_for


def served(*, project: Project, model: str, protocol: str, actor: User | None) -> Answering:
    """Load a backend or a trained model of a project, and record that it is served. Raises ServiceError."""
    choice = chosen(project, model)
    try:
        backend = load_model(choice.model) if choice.model else load_backend(choice.backend, project, {})
    except BackendError as error:
        raise ServiceError(str(error), code="model") from None
    _check(backend, choice.stem)
    MODEL_SERVED.record(actor=actor, project_id=project.pk, data={"backend": choice.backend, "protocol": protocol})
    return Answering(backend, protocol, tokens_for(project), choice.stem)


def _check(backend: Backend, name: str) -> None:
    """Raise ServiceError for a backend that reads the patient of each note, which other tools don't send."""
    if isinstance(backend, OfPatients):
        raise ServiceError(
            _("The backend “%(name)s” needs the patient of each note, so it can't be served. Choose another model.")
            % {"name": name},
            code="model",
        )
