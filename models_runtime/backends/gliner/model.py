"""A GLiNER model from its folder: the network of span models, and what its configuration says."""

import json
from pathlib import Path
from typing import Any, Final

import torch
from safetensors.torch import load_file
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from transformers import AutoConfig, AutoModel

from annotations.text.names import keepable, unkeepable
from annotations.text.wording import gettext as _
from models_runtime.backends.base import BackendError
from models_runtime.backends.neural import device as neural_device
from models_runtime.backends.token_classification.encoding import FILE, Pieces
from models_runtime.backends.token_classification.model import WEIGHTS, padding, read_pieces, room

# The network of GLiNER's span models (Zaratiana et al. 2024), under the names of its published state dict.


# A layer between two projections is this many times as wide as the result.
WIDER: Final = 4


class SpanNetwork(nn.Module):  # type: ignore[misc]  # torch has no types where it is not installed
    """Scores every span of up to `width` words for every prompt.

    An encoder reads prompts and text together. A span is represented by its first and its last word (“markerV0”), and
    its score for a prompt is the scalar product with the prompt's vector.
    """

    def __init__(self, encoder: Any, *, hidden: int, width: int, layers: int) -> None:
        """`encoder` is a transformer; `hidden`: size of words and prompts; `layers`: LSTM layers, or 0 for none."""
        super().__init__()
        self.width = width
        parts = nn.ModuleDict({"bert_layer": nn.ModuleDict({"model": encoder})})
        if encoder.config.hidden_size != hidden:
            parts["projection"] = nn.Linear(encoder.config.hidden_size, hidden)
        self.token_rep_layer = parts
        self.rnn = nn.ModuleDict()
        if layers:
            self.rnn["lstm"] = nn.LSTM(hidden, hidden // 2, layers, bidirectional=True, batch_first=True)
        markers = {
            "project_start": _projection(hidden, hidden),
            "project_end": _projection(hidden, hidden),
            "out_project": _projection(2 * hidden, hidden),
        }
        self.span_rep_layer = nn.ModuleDict({"span_rep_layer": nn.ModuleDict(markers)})
        self.prompt_rep_layer = _projection(hidden, hidden)

    def forward(self, pieces: Any, mask: Any, prompts: Any, words: Any, lengths: Any) -> Any:
        """The logits [texts, words, widths, prompts] of spans by first word and number of words, less one.

        `pieces` and `mask` [texts, pieces]; `prompts` [prompts]: positions of the prompts, equal in all texts; `words`
        [texts, words]: position of each word's first piece, or -1 for none; `lengths` [texts]: numbers of words, on the
        CPU. A span that leaves its text has a score without meaning.
        """
        layers = self.token_rep_layer
        found = layers["bert_layer"]["model"](input_ids=pieces, attention_mask=mask).last_hidden_state
        if "projection" in layers:
            found = layers["projection"](found)
        rows = torch.arange(len(found), device=found.device)[:, None]
        inside = found[rows, words.clamp(min=0)] * (words >= 0)[..., None]
        if "lstm" in self.rnn:
            packed = pack_padded_sequence(inside, lengths, batch_first=True, enforce_sorted=False)
            inside, _ = pad_packed_sequence(self.rnn["lstm"](packed)[0], batch_first=True, total_length=words.shape[1])
        markers = self.span_rep_layer["span_rep_layer"]
        at = torch.arange(words.shape[1], device=found.device)
        ends = (at[:, None] + torch.arange(self.width, device=found.device)).clamp(max=words.shape[1] - 1)
        first = markers["project_start"](inside)[:, :, None].expand(-1, -1, self.width, -1)
        last = markers["project_end"](inside)[:, ends]
        spans = markers["out_project"](torch.cat([first, last], dim=-1).relu())
        asked = self.prompt_rep_layer(found[:, prompts])
        return torch.einsum("blkd,bcd->blkc", spans, asked)


def _projection(size: int, out: int) -> nn.Sequential:
    # Nothing is dropped when a model reads; the layer keeps the numbers of the published names.
    return nn.Sequential(nn.Linear(size, WIDER * out), nn.ReLU(), nn.Identity(), nn.Linear(WIDER * out, out))


# Load a GLiNER model from its folder: only safetensors, no code from the folder, no downloads.


CONFIG: Final = "gliner_config.json"
# Transformers that read a text in both directions, with one vector for each piece.
ENCODERS: Final = frozenset(
    {"bert", "camembert", "deberta", "deberta-v2", "distilbert", "electra", "modernbert", "roberta", "xlm-roberta"}
)
# Settings of the encoder that are not given to the library; those of attention can name code to download.
UNREAD: Final = frozenset(
    {"model_type", "attn_implementation", "_attn_implementation", "_attn_implementation_internal"}
)
# Settings of other GLiNER architectures, with the values that mean that they are not used.
PLAIN: Final = {
    "span_mode": ("markerV0",),
    "subtoken_pooling": ("first",),
    "words_splitter_type": ("whitespace",),
    "fuse_layers": (False,),
    "post_fusion_schema": ("", None),
    "span_encoder_config": (None,),
    "labels_encoder": (None,),
    "labels_decoder": (None,),
    "relations_layer": (None,),
    "precomputed_prompts_mode": (False, None),
}
EMBEDDINGS: Final = ("embeddings.word_embeddings.weight", "embeddings.tok_embeddings.weight")
ENCODER: Final = "token_rep_layer.bert_layer.model."
# The longest span in words, and the layers of the LSTM.
MOST_WIDTH: Final = 100
MOST_RNN_LAYERS: Final = 4


class GlinerFolder:
    """A folder that GLiNER's `save_pretrained` wrote with `safe_serialization=True`.

    `max_words`: the most words of a text that the model reads at once. `room`: the most pieces, special ones included.
    `pad`, `ent` and `sep`: the ids of the pieces that fill a window, before each prompt, and after all prompts.
    `after`: whether a prompt's vector is that of the piece after `ent`. Raises BackendError (permanent) for a folder
    that this version can't use.
    """

    def __init__(self, path: str) -> None:
        self.path = Path(path)
        self.name = neural_device.name_of(self.path)
        neural_device.check_files(self.path, (CONFIG, FILE, WEIGHTS))
        said = self._config()
        self.encoder = self._encoder(said)
        self.width = _whole(said, "max_width", 12, MOST_WIDTH)
        self.max_words = _whole(said, "max_len", 384)
        self.max_prompts = _whole(said, "max_types", 25)
        self.after = not said.get("embed_ent_token", True)
        self.room, self.pad = self._limits()
        self.pieces: Pieces = read_pieces(self.path)
        self.ent = self._piece(said.get("ent_token", "<<ENT>>"))
        self.sep = self._piece(said.get("sep_token", "<<SEP>>"))
        self.network = self._network(said)
        if not 0 <= max(self.pieces.last, self.pad) < self.encoder.vocab_size:
            raise self._unusable(FILE, _("a piece has no row in the embeddings"))

    def _config(self) -> dict[str, Any]:
        try:
            said = json.loads((self.path / CONFIG).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise self._unusable(CONFIG, type(error).__name__) from None
        if not isinstance(said, dict):
            raise self._unusable(CONFIG, _("no object"))
        for key, plain in PLAIN.items():
            if key in said and said[key] not in plain:
                raise BackendError(
                    "The folder “{name}” has another architecture ({key}). Choose a model with “markerV0” spans "
                    "and one encoder.",
                    *(self.name, key),
                )
        return said

    def _encoder(self, said: dict[str, Any]) -> Any:
        """The configuration of the encoder. Its vocabulary is as large as the stored embeddings."""
        given = said.get("encoder_config")
        if not isinstance(given, dict):
            raise BackendError(
                "The file {config} in “{name}” has no encoder_config. Save the model again with GLiNER's "
                "save_pretrained.",
                *(CONFIG, self.name),
            )
        kind = given.get("model_type", "deberta-v2")
        if "auto_map" in given or not isinstance(kind, str) or kind not in ENCODERS:
            raise BackendError(
                "The encoder of “{name}” ({kind}) can't be used. Encoders: {encoders}.",
                *(self.name, keepable(str(kind)[:40]), ", ".join(sorted(ENCODERS))),
            )
        try:
            encoder = AutoConfig.for_model(kind, **{key: given[key] for key in given if key not in UNREAD})
            layers = encoder.num_hidden_layers
        except Exception as error:  # the library raises errors of many types
            raise self._unusable(CONFIG, type(error).__name__) from None
        if type(layers) is not int or layers > neural_device.MOST_LAYERS:
            raise self._unusable(CONFIG, _("the number of layers"))
        return encoder

    def _limits(self) -> tuple[int, int]:
        try:
            return room(self.encoder), padding(self.encoder)
        except (TypeError, ValueError, OverflowError) as error:
            raise self._unusable(CONFIG, type(error).__name__) from None

    def _piece(self, token: object) -> int:
        if not isinstance(token, str) or unkeepable(token):
            raise self._unusable(CONFIG, _("a name of a piece"))
        found = self.pieces.id_of(token)
        if found is None:
            raise BackendError(
                "The tokenizer of “{name}” has no piece {token}. Save the model again with GLiNER's save_pretrained.",
                *(self.name, token[:40]),
            )
        return found

    def _network(self, said: dict[str, Any]) -> SpanNetwork:
        hidden = _whole(said, "hidden_size", 512)
        layers = said.get("num_rnn_layers", 1)
        if type(layers) is not int or layers > MOST_RNN_LAYERS:
            raise self._unusable(CONFIG, "num_rnn_layers")

        def built() -> SpanNetwork:
            encoder = AutoModel.from_config(self.encoder, trust_remote_code=False, dtype=torch.float32)
            return SpanNetwork(encoder, hidden=hidden, width=self.width, layers=max(0, layers))

        try:
            tensors = load_file(self.path / WEIGHTS)
            # Positions are counted, not stored; files of older versions have them.
            tensors = {name: tensor.float() for name, tensor in tensors.items() if not name.endswith("position_ids")}
            for name in EMBEDDINGS:
                if ENCODER + name in tensors:
                    self.encoder.vocab_size, _ = tensors[ENCODER + name].shape
            with torch.device("meta"):
                planned = built()
            neural_device.check_fit(planned, tensors)
            network = built()
            network.load_state_dict(tensors)
        except Exception as error:  # the libraries raise errors of many types
            raise self._unusable(WEIGHTS, type(error).__name__) from None
        network.eval()
        return network

    def _unusable(self, file: str, why: str) -> BackendError:
        return BackendError("The file {file} in “{name}” can't be used ({why}).", file, self.name, why)


def _whole(said: dict[str, Any], key: str, usual: int, most: int = 100_000) -> int:
    value = said.get(key, usual)
    if type(value) is not int or not 0 < value <= most:
        raise BackendError(
            "The value of {key} in {file} must be a whole number between 1 and {most}.", key, CONFIG, most
        )
    return value
