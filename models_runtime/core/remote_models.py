"""The models on other servers, from the settings."""

from django.conf import settings

from models_runtime.backends.remote.servers import PROTOCOLS
from models_runtime.core.external_model import ExternalModel
from models_runtime.core.registry import REMOTE


def remote_models() -> list[ExternalModel]:
    """List the models in DEIDREVIEW_REMOTE_MODELS by name."""
    return [
        ExternalModel(
            REMOTE, server.name, "", server.labels, description=PROTOCOLS[server.protocol], folder=False, server=server
        )
        for _name, server in sorted(settings.REMOTE_MODELS.items())
    ]
