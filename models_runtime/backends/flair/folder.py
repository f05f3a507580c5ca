"""Load a converted Flair tagger: only JSON and safetensors, so no code from the folder can run."""

import hashlib
import json
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from models_runtime.backends.base import BackendError
from models_runtime.backends.flair.network import START, STOP, Characters, FlairNetwork, Words
from models_runtime.backends.neural.stored import check_fit, name_of

CONFIG: Final = "config.json"
WORDS: Final = "words.json"
WEIGHTS: Final = "model.safetensors"
FORMAT: Final = "deidreview-flair-1"
SWITCHES: Final = ("reproject", "lstm", "crf")
# The layers behind the embeddings by Flair's names.
LAYERS: Final = {"embedding2nn": "tagger.reprojection", "linear": "tagger.out"}
# Characters that a language model reads before each sentence.
MOST_START: Final = 100


def load_tagger(folder: Path) -> tuple[FlairNetwork, str]:
    """The network and a hash of its files. Raises BackendError (permanent) for a folder that can't be used."""
    name = name_of(folder)
    if not folder.is_dir():
        raise BackendError(f"There is no folder “{name}” on this worker. Add the folder.", permanent=True)
    if missing := [file for file in (CONFIG, WORDS, WEIGHTS) if not (folder / file).is_file()]:
        raise BackendError(
            f"The folder “{name}” lacks {', '.join(missing)}. Convert the tagger as docs/flair.md says.",
            permanent=True,
        )
    whole = hashlib.sha256()
    for file_name in (CONFIG, WORDS, WEIGHTS):
        with (folder / file_name).open("rb") as file:
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
        tensors = {key: tensor.float() for key, tensor in load_file(folder / WEIGHTS).items()}
        shapes: dict[str, Sequence[int]] = {key: tuple(tensor.shape) for key, tensor in tensors.items()}
        parts = [_part(each, words.get(str(number))) for number, each in enumerate(config["embeddings"])]
        build = partial(FlairNetwork, parts, tags, shapes, **{key: bool(config[key]) for key in SWITCHES})
        with torch.device("meta"):
            planned = build()
        tensors = {_ours(name): values for name, values in tensors.items()}
        check_fit(planned, tensors)
        network = build()
        network.load_state_dict(tensors)
        _check(network)
    except (ValueError, LookupError, TypeError, AttributeError, RuntimeError, OSError, SafetensorError) as error:
        raise BackendError(
            f"The tagger in “{name}” can't be used ({type(error).__name__}). Convert it again as docs/flair.md says.",
            permanent=True,
        ) from None
    network.eval()
    return network, whole.hexdigest()[:12]


def _ours(name: str) -> str:
    """The name of a tensor of Flair's in our network: its LSTM has a layer and a direction in one module."""
    if found := re.fullmatch(r"rnn\.(\w+)_l(\d+)(_reverse)?", name):
        return f"tagger.{'behind' if found[3] else 'onward'}.{found[2]}.{found[1]}_l0"
    layer, _, rest = name.partition(".")
    return f"{LAYERS.get(layer, layer)}.{rest}"


def _part(said: dict[str, Any], words: Any) -> Characters | Words:
    if said["kind"] == "words":
        return Words(_numbered(words))
    start = str(said["start"])
    if len(start) > MOST_START:
        raise ValueError("a long start")
    return Characters(
        _numbered(said["characters"]),
        forward=bool(said["forward"]),
        lower=bool(said["lower"]),
        after_space=bool(said["after_space"]),
        start=start,
    )


def _numbered(items: Any) -> dict[str, int]:
    """The number of each item. Raises ValueError for a repeated one, after which the others' numbers would be wrong."""
    numbers = {str(item): at for at, item in enumerate(items)}
    if len(numbers) != len(items):
        raise ValueError("a repeated item")
    return numbers


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
