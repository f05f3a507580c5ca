"""External models on this machine: spaCy pipelines and folders of weights, trained elsewhere with other labels.

An operator installs them with pip or copies them. An uploaded file never becomes an external model.
"""

from models_runtime.core.external_model import ExternalModel
from models_runtime.core.pipelines import pipelines
from models_runtime.core.registry import PIPELINE, TAGGER
from models_runtime.core.weights import taggers

FOUND = {PIPELINE: pipelines, TAGGER: taggers}


def external_models() -> list[ExternalModel]:
    """List all external models on this machine, by kind and name."""
    return [model for found in FOUND.values() for model in found()]


def external_model_named(backend: str, name: str) -> ExternalModel | None:
    return next((model for model in FOUND[backend]() if model.name == name), None)
