"""Models of others that lie on this machine, with labels of their own: spaCy pipelines, and folders of weights.

An operator puts them there, by pip or by hand; nothing that is uploaded ever becomes one.
"""

from models_runtime.core.foreign_model import Foreign
from models_runtime.core.pipelines import pipelines
from models_runtime.core.registry import PIPELINE, TAGGER
from models_runtime.core.weights import taggers

FOUND = {PIPELINE: pipelines, TAGGER: taggers}


def foreign_models() -> list[Foreign]:
    """All that can be run here, kind by kind, by name."""
    return [model for found in FOUND.values() for model in found()]


def foreign_named(backend: str, name: str) -> Foreign | None:
    return next((model for model in FOUND[backend]() if model.name == name), None)
