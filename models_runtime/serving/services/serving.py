"""Which model is served, and with which key."""

import secrets
from dataclasses import dataclass

from django.conf import settings
from django.db import connection
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.models import Project, User
from models_runtime.backends.base import Backend, BackendError, OfPatients
from models_runtime.core.model_files import load_backend, load_model
from models_runtime.runs.services.backends import chosen
from models_runtime.serving.events import MODEL_SERVED
from models_runtime.serving.services.answering import Answering
from models_runtime.serving.services.keys import one_key


@dataclass(frozen=True)
class Served:
    """A loaded model that is ready to answer. `made_key` is the key if it was made now, else empty."""

    answering: Answering
    name: str
    made_key: str


def served(*, project: Project, model: str, protocol: str, actor: User | None) -> Served:
    """Load a backend or a trained model of a project, and record that it is served. Raises ServiceError."""
    choice = chosen(project, model)
    try:
        backend = load_model(choice.model) if choice.model else load_backend(choice.backend, project, {})
    except BackendError as error:
        raise ServiceError(str(error), code="model") from None
    _check(backend, choice.stem)
    key = settings.SERVING_KEY or secrets.token_urlsafe(24)
    MODEL_SERVED.record(actor=actor, project_id=project.pk, data={"backend": choice.backend, "protocol": protocol})
    # A database is not needed any more, and an idle connection would be closed by its server.
    connection.close()
    answering = Answering(backend, protocol, one_key(key), choice.stem)
    return Served(answering, choice.stem, "" if settings.SERVING_KEY else key)


def _check(backend: Backend, name: str) -> None:
    """Raise ServiceError for a backend that reads the patient of each note, which other tools don't send."""
    if isinstance(backend, OfPatients):
        raise ServiceError(
            _("The backend “%(name)s” needs the patient of each note, so it can't be served. Choose another model.")
            % {"name": name},
            code="model",
        )
