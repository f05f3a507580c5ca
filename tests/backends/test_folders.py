"""Folders of models that were trained elsewhere: which are refused, and that no pickle or code in them is opened."""

import json
import shutil

import pytest

pytest.importorskip("torch")

import torch
from safetensors.torch import load_file, save_file

from models_runtime.backends import BackendError
from models_runtime.backends.flair import FlairBackend
from models_runtime.backends.gliner.backend import GlinerBackend
from models_runtime.backends.token_classification import TokenClassificationBackend
from tests.backends.made_flair import made_flair
from tests.backends.made_gliner import made_gliner
from tests.backends.made_weights import tiny_bert

MODEL = "model.safetensors"
# How each kind is made and read, and its file of settings.
KINDS = {
    "tagger": (
        lambda folder: tiny_bert(folder, ["Anna di Rovigo"], ["O", "B-PER", "I-PER"]),
        lambda folder: TokenClassificationBackend(str(folder), "set", {"PER": "PATIENT"}), "config.json",
    ),
    "flair": (
        made_flair, lambda folder: FlairBackend(str(folder), "set", {"PER": "PATIENT", "LOC": "CITY"}), "config.json"
    ),
    "gliner": (made_gliner, lambda folder: GlinerBackend(str(folder), "set", {"city": "CITY"}), "gliner_config.json"),
}  # fmt: skip


def repeated(words):
    """Flair's lists of words, with one of them twice."""
    return json.dumps({at: [*own[:-1], own[0]] for at, own in json.loads(words).items()})


UNUSABLE = [
    (tuple(KINDS), MODEL, None, "pickle|Pickled|never opened|Convert the tagger"),
    (tuple(KINDS), MODEL, "x", "can't be (used|read)"), (tuple(KINDS), "config", "[", "can't be used"),
    (("tagger", "gliner"), "tokenizer.json", None, "lacks tokenizer.json"),
    (("tagger",), "tokenizer.json", "{}", "can't be read as a tokenizer"),
    (("tagger",), "config", '{"model_type": "bert", "auto_map": {"AutoModel": "evil.Net"}}', "code of its own"),
    (("flair",), "words.json", repeated, "can't be used"),
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_unusable_folders(kind, tmp_path, monkeypatch):
    """A pickle is never opened, not even if it is the only file with weights."""
    monkeypatch.setattr(torch, "load", lambda *args, **kwargs: pytest.fail("a pickle was opened"))
    make, read, config = KINDS[kind]
    folder = make(tmp_path / "made")
    read(folder)
    for number, (kinds, name, content, why) in enumerate(UNUSABLE):
        if kind in kinds:
            other = shutil.copytree(folder, tmp_path / str(number))
            (other / "pytorch_model.bin").write_bytes(b"x")
            file = other / (config if name == "config" else name)
            new = content(file.read_text()) if callable(content) else content
            file.unlink() if new is None else file.write_text(new)
            with pytest.raises(BackendError, match=why) as caught:
                read(other)
            assert caught.value.permanent, (name, content)
    with pytest.raises(BackendError, match="Add the folder"):
        read(tmp_path / "nowhere")


DAMAGED = [
    ("flair", "linear.bias", lambda tensor: torch.full_like(tensor, torch.nan)),
    # Without a check, an LSTM with this width would need 16 TB.
    ("flair", "rnn.weight_hh_l0", lambda tensor: torch.ones(0, 10**6)),
    ("flair", "embeddings.list_embedding_0.embedding.weight", lambda tensor: torch.ones(0, 8)),
    ("flair", "embeddings.list_embedding_0.embedding.weight", lambda tensor: tensor[:3].clone()),
    ("gliner", "prompt_rep_layer.3.bias", lambda tensor: torch.full_like(tensor, torch.nan)),
    ("gliner", "token_rep_layer.bert_layer.model.embeddings.word_embeddings.weight", lambda tensor: torch.tensor(1.0)),
    ("gliner", "token_rep_layer.bert_layer.model.embeddings.word_embeddings.weight", lambda tensor: torch.ones(0, 8)),
]


@pytest.mark.parametrize(("kind", "name", "change"), DAMAGED)
def test_damaged_tensors(kind, name, change, tmp_path):
    make, read, _config = KINDS[kind]
    folder = make(tmp_path / "made")
    tensors = load_file(folder / MODEL)
    save_file(tensors | {name: change(tensors[name])}, folder / MODEL)
    with pytest.raises(BackendError, match="can't be used"):
        read(folder)
