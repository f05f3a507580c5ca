"""Find the folders of zero-shot models (GLiNER) in DATA_DIR/weights. No library is imported."""

from annotations.text.names import unkeepable
from models_runtime.core import weights
from models_runtime.core.external_model import ExternalModel
from models_runtime.core.registry import GLINER

CONFIG = "gliner_config.json"
NEEDED = (CONFIG, "tokenizer.json", "model.safetensors")


def zero_shot_models() -> list[ExternalModel]:
    """List the folders with a configuration of GLiNER, a tokenizer and safetensors, by name."""
    found = []
    for name, folder in weights.folders() if weights.home().is_dir() else ():
        if all((folder / needed).is_file() for needed in NEEDED) and (config := weights.read_json(folder / CONFIG)):
            encoder = config.get("encoder_config")
            kind = encoder.get("model_type") if isinstance(encoder, dict) else None
            about = f"{str(kind)[:40]}, {str(config.get('span_mode'))[:40]}"
            if not unkeepable(about):
                found.append(ExternalModel(GLINER, name, str(folder), (), description=about, zero_shot=True))
    return found
