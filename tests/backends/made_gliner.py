"""Folders of small GLiNER models, as GLiNER's `save_pretrained` writes them: tensors from seeds, a tiny vocabulary."""

import json
import zlib
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer, models

from tests.backends.made_weights import SPECIAL, as_berts

RECORDED = json.loads((Path(__file__).parents[1] / "cases" / "gliner.json").read_text(encoding="utf-8"))
WORDS = (
    "Anna", "Maria", "Bian", "##chi", ",", "di", "Rovigo", ".", "Luca", "Roma", "-", "name", "of", "a", "person",
    "city", "town", "è", "nata", "a1", "😀",
)  # fmt: skip
SCALE = 0.3
STEADY = 1.15


def tensor(name, shape):
    """The numbers of a tensor, from its name; zeros for a bias."""
    made = np.random.RandomState(zlib.crc32(name.encode())).normal(0, SCALE, tuple(shape)).astype(np.float32)
    return torch.from_numpy(made * 0 if name.endswith("bias") else made)


def steady_gliner(folder, least=STEADY):
    """A model in which a span's score depends on its first and last word only: no layers, no positions, no LSTM.

    `least` is subtracted from all scores.
    """
    encoder = RECORDED["cases"]["bert"]["config"]["encoder_config"] | {"num_hidden_layers": 0}
    made_gliner(folder, encoder_config=encoder, num_rnn_layers=0)
    tensors = load_file(folder / "model.safetensors")
    kept = {name: values for name, values in tensors.items() if ".encoder.layer." not in name and "rnn." not in name}
    kept["token_rep_layer.bert_layer.model.embeddings.position_embeddings.weight"].zero_()
    # The first number of every span is -least, that of every prompt is 1.
    for layer, value in (("span_rep_layer.span_rep_layer.out_project", -least), ("prompt_rep_layer", 1.0)):
        kept[f"{layer}.3.weight"][0] = 0
        kept[f"{layer}.3.bias"][0] = value
    save_file(kept, folder / "model.safetensors")
    return folder


def made_gliner(folder, case="bert", **changes):
    """The model of a recorded case; `changes` to its configuration."""
    recorded = RECORDED["cases"][case]
    folder.mkdir(parents=True)
    tokenizer = Tokenizer(models.WordPiece({word: at for at, word in enumerate([*SPECIAL, *WORDS])}, unk_token="[UNK]"))
    as_berts(tokenizer)
    tokenizer.add_special_tokens(["[FLERT]", "<<ENT>>", "<<SEP>>"])
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "gliner_config.json").write_text(json.dumps(recorded["config"] | changes))
    tensors = {name: tensor(name, shape) for name, shape in recorded["tensors"].items()}
    save_file(tensors, folder / "model.safetensors")
    return folder
