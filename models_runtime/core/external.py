"""External models, trained elsewhere with other labels: spaCy pipelines, folders of weights, and models on servers.

An operator installs them with pip, copies them, or lists their servers. An uploaded file never becomes an external
model. No library is imported to find them.
"""

from django.conf import settings

from annotations.text.bio import labels_in, without_special
from annotations.text.names import bad_character, unkeepable
from models_runtime.backends.remote.servers import PROTOCOLS
from models_runtime.core import weights
from models_runtime.core.external_model import ExternalModel
from models_runtime.core.pipelines import pipelines
from models_runtime.core.registry import FLAIR, GLINER, PIPELINE, REMOTE, TAGGER

# Written by the script in docs/flair.md.
FLAIR_FORMAT = "deidreview-flair-1"
OF_FLAIR = ("config.json", "words.json", "model.safetensors")
OF_GLINER = ("gliner_config.json", "tokenizer.json", "model.safetensors")


def flair_taggers() -> list[ExternalModel]:
    """List the folders of converted Flair taggers by name, with their labels."""
    found = []
    for name, folder in weights.folders_with(OF_FLAIR):
        config = weights.read_json(folder / "config.json")
        tags = config.get("tags")
        if config.get("format") != FLAIR_FORMAT or not isinstance(tags, list):
            continue
        try:
            labels = labels_in(without_special(map(str, tags)))
        except ValueError:
            continue
        if labels and not any(map(bad_character, labels)):
            found.append(ExternalModel(FLAIR, name, str(folder), labels, description=f"{len(labels)} labels"))
    return found


def zero_shot_models() -> list[ExternalModel]:
    """List the folders with a configuration of GLiNER, a tokenizer and safetensors, by name."""
    found = []
    for name, folder in weights.folders_with(OF_GLINER):
        if config := weights.read_json(folder / "gliner_config.json"):
            encoder = config.get("encoder_config")
            kind = encoder.get("model_type") if isinstance(encoder, dict) else None
            about = f"{str(kind)[:40]}, {str(config.get('span_mode'))[:40]}"
            if not unkeepable(about):
                found.append(ExternalModel(GLINER, name, str(folder), (), description=about, zero_shot=True))
    return found


def remote_models() -> list[ExternalModel]:
    """List the models in DEIDREVIEW_REMOTE_MODELS by name."""
    return [
        ExternalModel(
            REMOTE, server.name, "", server.labels, description=PROTOCOLS[server.protocol], folder=False, server=server
        )
        for _name, server in sorted(settings.REMOTE_MODELS.items())
    ]


FOUND = {
    PIPELINE: pipelines,
    TAGGER: weights.taggers,
    FLAIR: flair_taggers,
    GLINER: zero_shot_models,
    REMOTE: remote_models,
}


def external_models() -> list[ExternalModel]:
    """List all external models, by kind and name."""
    return [model for found in FOUND.values() for model in found()]


def external_model_named(backend: str, name: str) -> ExternalModel | None:
    return next((model for model in FOUND[backend]() if model.name == name), None)
