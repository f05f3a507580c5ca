"""Zero-shot span models: GLiNER (Zaratiana et al. 2024) from a folder, with labels given as words."""

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from safetensors.torch import load_file
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence
from transformers import AutoConfig, AutoModel

from annotations.text.characters import trim
from annotations.text.names import keepable, unkeepable
from annotations.text.spans import Span
from models_runtime.backends.base import BackendError, blocks
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
            raise self._unusable(FILE, "a piece has no row in the embeddings")

    def _config(self) -> dict[str, Any]:
        try:
            said = json.loads((self.path / CONFIG).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError) as error:
            raise self._unusable(CONFIG, type(error).__name__) from None
        if not isinstance(said, dict):
            raise self._unusable(CONFIG, "no object")
        for key, plain in PLAIN.items():
            if key in said and said[key] not in plain:
                raise BackendError(
                    f"The folder “{self.name}” has another architecture ({key}). Choose a model with “markerV0” "
                    "spans and one encoder."
                )
        return said

    def _encoder(self, said: dict[str, Any]) -> Any:
        """The configuration of the encoder. Its vocabulary is as large as the stored embeddings."""
        given = said.get("encoder_config")
        if not isinstance(given, dict):
            raise BackendError(
                f"The file {CONFIG} in “{self.name}” has no encoder_config. Save the model again with GLiNER's "
                "save_pretrained."
            )
        kind = given.get("model_type", "deberta-v2")
        if "auto_map" in given or not isinstance(kind, str) or kind not in ENCODERS:
            raise BackendError(
                f"The encoder of “{self.name}” ({keepable(str(kind)[:40])}) can't be used. Encoders: "
                f"{', '.join(sorted(ENCODERS))}."
            )
        try:
            encoder = AutoConfig.for_model(kind, **{key: given[key] for key in given if key not in UNREAD})
            layers = encoder.num_hidden_layers
        except Exception as error:  # the library raises errors of many types
            raise self._unusable(CONFIG, type(error).__name__) from None
        if type(layers) is not int or layers > neural_device.MOST_LAYERS:
            raise self._unusable(CONFIG, "the number of layers")
        return encoder

    def _limits(self) -> tuple[int, int]:
        try:
            return room(self.encoder), padding(self.encoder)
        except (TypeError, ValueError, OverflowError) as error:
            raise self._unusable(CONFIG, type(error).__name__) from None

    def _piece(self, token: object) -> int:
        if not isinstance(token, str) or unkeepable(token):
            raise self._unusable(CONFIG, "a name of a piece")
        found = self.pieces.id_of(token)
        if found is None:
            raise BackendError(
                f"The tokenizer of “{self.name}” has no piece {token[:40]}. Save the model again with GLiNER's "
                "save_pretrained."
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
        return BackendError(f"The file {file} in “{self.name}” can't be used ({why}).")


def _whole(said: dict[str, Any], key: str, usual: int, most: int = 100_000) -> int:
    value = said.get(key, usual)
    if type(value) is not int or not 0 < value <= most:
        raise BackendError(f"The value of {key} in {CONFIG} must be a whole number between 1 and {most}.")
    return value


VERSION: Final = "1"
# GLiNER's rule of words (its splitter “whitespace”).
WORD: Final = re.compile(r"\w+(?:[-_]\w+)*|\S")
# A span is suggested if its probability for a prompt is higher.
THRESHOLD: Final = 0.5
DECIMALS: Final = 3
BLOCK: Final = 16

# First and past-the-last word, and the index of the prompt.
Candidate = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of a text: their bounds (code points), and the pieces of each."""

    bounds: list[tuple[int, int]]
    pieces: list[list[int]]


@dataclass(frozen=True, slots=True)
class _Window:
    """Words `start` to `past` of a text, read together with one group of prompts."""

    text: int
    start: int
    past: int
    group: int


@dataclass(frozen=True, slots=True)
class _Group:
    """Prompts that are read together: the index of the first, all pieces, and the position of each prompt's vector."""

    first: int
    pieces: list[int]
    at: list[int]


class GlinerBackend(neural_device.OnDevice):
    """Predicts with the GLiNER model in the folder `path` (safetensors; no code from the folder is run).

    `labels` maps each prompt to a code in `label_set`. Many prompts are asked in groups, and long texts are read in
    windows that overlap by more words than a span can have. Of spans that overlap, the likeliest is kept; its
    probability is the confidence. Raises BackendError (permanent) for an unusable folder.
    """

    name = "gliner"

    def __init__(self, path: str, label_set: str, labels: Mapping[str, str | None], device: str = "auto") -> None:
        folder = GlinerFolder(path)
        self._folder, self.label_set = folder, label_set
        asked = sorted((prompt, code) for prompt, code in labels.items() if code)
        self._codes = [code for _, code in asked]
        self.labels = tuple(sorted(set(self._codes)))
        digest = neural_device.digest_of(folder.path, (CONFIG, FILE, WEIGHTS))
        self.revision = f"{VERSION}-{digest}-{hashlib.sha256(repr(asked).encode()).hexdigest()[:8]}"
        self._source = f"gliner-{folder.name[:60]}-{digest[:8]}"
        self._before, self._after = folder.pieces.around
        self._room = folder.room - len(self._before) - len(self._after)
        self._groups = list(self._grouped([prompt for prompt, _ in asked]))
        self.placement = neural_device.Placement(neural_device.choose_device(device), folder.network)

    def stream(self, texts: Iterable[str]) -> Iterator[list[Span]]:
        """The spans of each text, in order, computed in blocks of texts."""
        for block in blocks(texts, BLOCK):
            found = [_split(text, self._folder.pieces.of_words, self._room // 4) for text in block]
            for text, words, scores in zip(block, found, self._scores(found), strict=True):
                yield self._spans(text, words, scores)

    def _grouped(self, prompts: Sequence[str]) -> Iterator[_Group]:
        """Groups of prompts that take at most half of a window. Raises BackendError for a prompt that is too long."""
        first, pieces, at = 0, list[int](), list[int]()
        for number, prompt in enumerate(prompts):
            own = [self._folder.ent, *self._folder.pieces.of_words([prompt])[0]]
            if len(own) + 1 > self._room // 2:
                raise BackendError(f"The prompt “{prompt[:40]}” is too long for the model. Shorten it.")
            if at and (len(pieces) + len(own) + 1 > self._room // 2 or len(at) == self._folder.max_prompts):
                yield _Group(first, [*pieces, self._folder.sep], at)
                first, pieces, at = number, [], []
            at.append(len(self._before) + len(pieces) + self._folder.after)
            pieces = pieces + own
        if at:
            yield _Group(first, [*pieces, self._folder.sep], at)

    def _windows(self, text: int, words: _Words) -> Iterator[_Window]:
        overlap = 2 * self._folder.width
        for number, group in enumerate(self._groups):
            most = self._room - len(group.pieces)
            start = past = 0
            while past < len(words.pieces):
                size, past = 0, start
                while past < len(words.pieces) and past - start < self._folder.max_words:
                    size += len(words.pieces[past])
                    if size > most:
                        break
                    past += 1
                yield _Window(text, start, past, number)
                start = max(start + 1, past - overlap)

    def _scores(self, texts: Sequence[_Words]) -> list[dict[Candidate, float]]:
        """The candidates of each text above the threshold, with their highest probability in a window."""
        work = [window for number, words in enumerate(texts) for window in self._windows(number, words)]
        found: list[dict[Candidate, float]] = [{} for _ in texts]

        def read(batch: Sequence[int]) -> None:
            # All texts of a batch have the same prompts.
            for group in sorted({work[at].group for at in batch}):
                chosen = [work[at] for at in batch if work[at].group == group]
                for window, scores in zip(chosen, self._read(texts, chosen, self._groups[group]), strict=True):
                    for first, width, prompt in np.argwhere(scores > THRESHOLD).tolist():
                        if window.start + first + width < window.past:
                            start = window.start + first
                            key = (start, start + width + 1, self._groups[group].first + prompt)
                            known = found[window.text].get(key, 0.0)
                            found[window.text][key] = max(known, float(scores[first, width, prompt]))

        self.placement.each([self._length(texts, window) for window in work], read)
        return found

    def _length(self, texts: Sequence[_Words], window: _Window) -> int:
        own = texts[window.text].pieces[window.start : window.past]
        return len(self._groups[window.group].pieces) + sum(map(len, own)) + len(self._before) + len(self._after)

    def _read(self, texts: Sequence[_Words], windows: Sequence[_Window], group: _Group) -> Any:
        """The probabilities [windows, words, widths, prompts]."""
        lengths = [self._length(texts, window) for window in windows]
        counts = [window.past - window.start for window in windows]
        pieces = np.full((len(windows), max(lengths)), self._folder.pad, dtype=np.int64)
        firsts = np.full((len(windows), max(counts)), -1, dtype=np.int64)
        for row, window in enumerate(windows):
            given = [*self._before, *group.pieces]
            for word, own in enumerate(texts[window.text].pieces[window.start : window.past]):
                if own:
                    firsts[row, word] = len(given)
                given += own
            given += self._after
            pieces[row, : len(given)] = given
        mask = np.arange(pieces.shape[1]) < np.array(lengths)[:, None]
        device = self.placement.device
        given_at = [torch.from_numpy(each).to(device.name) for each in (pieces, mask.astype(np.int64), firsts)]
        at = torch.tensor(group.at, device=device.name)
        with torch.inference_mode(), device.precision():
            logits = self._folder.network(given_at[0], given_at[1], at, given_at[2], torch.tensor(counts))
        logits = logits.float().cpu()
        # Spans that leave their text have scores without meaning.
        inside = np.add.outer(np.arange(logits.shape[1]), np.arange(logits.shape[2])) < np.array(counts)[:, None, None]
        neural_device.check_scores([bool(torch.isfinite(logits[torch.from_numpy(inside)]).all())])
        return torch.sigmoid(logits).numpy()

    def _spans(self, text: str, words: _Words, scores: Mapping[Candidate, float]) -> list[Span]:
        taken = np.zeros(len(words.bounds), dtype=bool)
        spans = []
        for (first, past, prompt), score in sorted(scores.items(), key=lambda item: (-item[1], item[0])):
            if taken[first:past].any():
                continue
            taken[first:past] = True
            start, end = trim(text, words.bounds[first][0], words.bounds[past - 1][1])
            if start < end:
                spans.append(Span(start, end, self._codes[prompt], round(min(score, 1.0), DECIMALS), self._source))
        return sorted(spans)


def _split(text: str, of_words: Any, most: int) -> _Words:
    """The words of a text. The network takes a word's first piece, so the end of a very long word can be left out."""
    found = list(WORD.finditer(text))
    numbers, owners = of_words([match.group() for match in found])
    pieces: list[list[int]] = [[] for _ in found]
    for number, owner in zip(numbers, owners, strict=True):
        if len(pieces[owner]) < most:
            pieces[owner].append(number)
    return _Words([match.span() for match in found], pieces)
