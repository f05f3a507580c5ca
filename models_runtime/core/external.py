"""External models, trained elsewhere with other labels: spaCy pipelines, folders of weights, and models on servers.

An operator installs them with pip, copies them, or lists their servers. An uploaded file never becomes an external
model.
"""

from models_runtime.core.external_model import ExternalModel
from models_runtime.core.flair_taggers import flair_taggers
from models_runtime.core.pipelines import pipelines
from models_runtime.core.registry import FLAIR, GLINER, PIPELINE, REMOTE, TAGGER
from models_runtime.core.remote_models import remote_models
from models_runtime.core.weights import taggers
from models_runtime.core.zero_shot import zero_shot_models

FOUND = {PIPELINE: pipelines, TAGGER: taggers, FLAIR: flair_taggers, GLINER: zero_shot_models, REMOTE: remote_models}


def external_models() -> list[ExternalModel]:
    """List all external models, by kind and name."""
    return [model for found in FOUND.values() for model in found()]


def external_model_named(backend: str, name: str) -> ExternalModel | None:
    return next((model for model in FOUND[backend]() if model.name == name), None)
