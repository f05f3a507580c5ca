"""Find the folders of converted Flair taggers in DATA_DIR/weights. No library is imported."""

from annotations.text.bio import labels_in, without_special
from annotations.text.names import bad_character
from models_runtime.core import weights
from models_runtime.core.external_model import ExternalModel
from models_runtime.core.registry import FLAIR

# Written by the script in docs/flair.md.
FORMAT = "deidreview-flair-1"
NEEDED = ("config.json", "words.json", "model.safetensors")


def flair_taggers() -> list[ExternalModel]:
    """List the folders of taggers by name, with their labels."""
    found = []
    for name, folder in weights.folders() if weights.home().is_dir() else ():
        if not all((folder / needed).is_file() for needed in NEEDED):
            continue
        config = weights.read_json(folder / "config.json")
        tags = config.get("tags")
        if config.get("format") != FORMAT or not isinstance(tags, list):
            continue
        try:
            labels = labels_in(without_special(map(str, tags)))
        except ValueError:
            continue
        if labels and not any(map(bad_character, labels)):
            found.append(ExternalModel(FLAIR, name, str(folder), labels, description=f"{len(labels)} labels"))
    return found
