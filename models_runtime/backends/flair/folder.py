"""Load a converted Flair tagger: only JSON and safetensors, so no code from the folder can run."""

import hashlib
import json
from pathlib import Path
from typing import Any, Final

from safetensors import SafetensorError
from safetensors.torch import load_file

from models_runtime.backends.base import BackendError
from models_runtime.backends.flair.network import START, STOP, Characters, FlairNetwork, Words

CONFIG: Final = "config.json"
WORDS: Final = "words.json"
WEIGHTS: Final = "model.safetensors"
FORMAT: Final = "deidreview-flair-1"


def load_tagger(folder: Path) -> tuple[FlairNetwork, str]:
    """The network and a hash of its files. Raises BackendError (permanent) for a folder that can't be used."""
    if not folder.is_dir():
        raise BackendError(f"There is no folder “{folder.name}” on this worker. Add the folder.", permanent=True)
    if missing := [file for file in (CONFIG, WORDS, WEIGHTS) if not (folder / file).is_file()]:
        raise BackendError(
            f"The folder “{folder.name}” lacks {', '.join(missing)}. Convert the tagger as docs/flair.md says.",
            permanent=True,
        )
    whole = hashlib.sha256()
    for name in (CONFIG, WORDS, WEIGHTS):
        with (folder / name).open("rb") as file:
            whole.update(hashlib.file_digest(file, "sha256").digest())
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        words = json.loads((folder / WORDS).read_text(encoding="utf-8"))
        if config["format"] != FORMAT:
            raise ValueError("another format")
        tags = [str(tag) for tag in config["tags"]]
        if not config["embeddings"]:
            raise ValueError("no embeddings")
        if config["crf"] and not {START, STOP} <= set(tags):
            raise ValueError("a CRF without its tags")
        tensors = load_file(folder / WEIGHTS)
        network = FlairNetwork(
            [_part(each, words.get(str(number))) for number, each in enumerate(config["embeddings"])],
            tags,
            {name: tuple(tensor.shape) for name, tensor in tensors.items()},
            reproject=bool(config["reproject"]),
            lstm=bool(config["lstm"]),
            crf=bool(config["crf"]),
        )
        network.load_state_dict({name: tensor.float() for name, tensor in tensors.items()})
        _check(network)
    except (ValueError, LookupError, TypeError, AttributeError, RuntimeError, OSError, SafetensorError) as error:
        raise BackendError(
            f"The tagger in “{folder.name}” can't be used ({type(error).__name__}). Convert it again as docs/flair.md "
            "says.",
            permanent=True,
        ) from None
    network.eval()
    return network, whole.hexdigest()[:12]


def _part(said: dict[str, Any], words: Any) -> Characters | Words:
    if said["kind"] == "words":
        return Words({str(word): at for at, word in enumerate(words)})
    numbers = {str(character): at for at, character in enumerate(said["characters"])}
    return Characters(
        numbers,
        forward=bool(said["forward"]),
        lower=bool(said["lower"]),
        after_space=bool(said["after_space"]),
        start=str(said["start"]),
    )


def _check(network: FlairNetwork) -> None:
    """Raise ValueError if a character or word has no row in the tensors."""
    for number, part in enumerate(network.parts):
        layers = network.embeddings[f"list_embedding_{number}"]
        table = layers["embedding"] if isinstance(part, Words) else layers["lm"]["encoder"]
        needed = len(part.rows) + 1 if isinstance(part, Words) else max(part.numbers.values(), default=0) + 1
        if table.num_embeddings < needed:
            raise ValueError("too few rows")
        if isinstance(part, Characters) and not part.start and not part.after_space:
            raise ValueError("no state before the first character")
