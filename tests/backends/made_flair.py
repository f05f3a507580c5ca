"""Folders of small Flair taggers, as the script in docs/flair.md writes them: tensors from seeds."""

import json
import zlib
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file

RECORDED = json.loads((Path(__file__).parents[1] / "cases" / "flair.json").read_text(encoding="utf-8"))
SCALE = 0.7
NEVER = -10_000


def tensor(name, shape, tags):
    """The numbers of a tensor, from its name; zeros for a bias. No path leads to the start or from the end."""
    made = np.random.RandomState(zlib.crc32(name.encode())).normal(0, SCALE, tuple(shape)).astype(np.float32)
    if name == "crf.transitions":
        made[tags.index("<START>"), :] = NEVER
        made[:, tags.index("<STOP>")] = NEVER
    return torch.from_numpy(made * 0 if "bias" in name else made)


def made_flair(folder, case="crf", **changes):
    """The tagger of a recorded case; `changes` to its configuration."""
    recorded = RECORDED["cases"][case]
    folder.mkdir(parents=True)
    config = recorded["config"]
    (folder / "config.json").write_text(json.dumps(config | changes))
    (folder / "words.json").write_text(json.dumps(recorded["words"]))
    tensors = {name: tensor(name, shape, config["tags"]) for name, shape in recorded["tensors"].items()}
    save_file(tensors, folder / "model.safetensors")
    return folder


def word_tagger(folder, tag_of, tags):
    """A tagger without context: each word of `tag_of` has its tag, almost surely, and other words have the first."""
    folder.mkdir(parents=True)
    words = sorted(tag_of)
    config = {"format": "deidreview-flair-1", "tags": list(tags), "embeddings": [{"kind": "words"}]}
    config |= {"reproject": False, "lstm": False, "crf": False}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "words.json").write_text(json.dumps({"0": words}))
    weight = torch.zeros(len(tags), len(words) + 1)
    for at, word in enumerate(words):
        weight[tags.index(tag_of[word]), at] = 20.0
    weight[0, len(words)] = 20.0
    rows = torch.eye(len(words) + 1)
    tensors = {"embeddings.list_embedding_0.embedding.weight": rows, "linear.weight": weight}
    save_file(tensors | {"linear.bias": torch.zeros(len(tags))}, folder / "model.safetensors")
    return folder
