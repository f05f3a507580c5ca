"""A trained transformer on disk (models_runtime.backends.files).

The safetensors header contains the configuration and the tokenizer. The network is the library's own implementation of
the named architecture; no code from the file is run.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save
from transformers import CONFIG_MAPPING, AutoConfig, AutoModelForMaskedLM, AutoModelForTokenClassification

from annotations.text.wording import gettext as _
from models_runtime.backends import files
from models_runtime.backends.base import BackendError
from models_runtime.backends.neural.crf import Tags
from models_runtime.backends.neural.device import check_files
from models_runtime.backends.neural.learning import copy_rows, shared_rows
from models_runtime.backends.token_classification.encoding import FILE, Pieces, ReadingMode

FORMAT: Final = "deidreview-transformer-1"
MASKED_FORMAT: Final = "deidreview-masked-lm-1"


@dataclass(frozen=True, slots=True)
class MaskedCard(files.FileCard):
    """Description of a masked language model, which has no labels. `base`: the folder of its starting weights."""

    base: str


@dataclass(frozen=True, slots=True)
class TransformerCard(MaskedCard):
    """Description of a model with labels. The last fields are those of Reading."""

    chunks: str = "overlapping"
    decoding: str = "path"
    grouped: int = 0

    @property
    def reading(self) -> ReadingMode:
        return ReadingMode(self.chunks, self.decoding, self.grouped)


def save_model(path: Path, card: MaskedCard, network: Any, tokenizer: str) -> str:
    """Write a model and return the sha256 of its file. The same content gives the same file."""
    tensors = {name: value.detach().cpu().contiguous().clone() for name, value in network.state_dict().items()}
    config = network.config.to_diff_dict() | {"model_type": network.config.model_type}
    # A single entry, because safetensors writes several entries in random order.
    header = json.dumps({"config": config, "tokenizer": tokenizer}, sort_keys=True)
    return files.save(path, card, save(tensors, {"said": header}))


C = TypeVar("C", bound=MaskedCard)


@dataclass(frozen=True)
class LoadedClassifier(Generic[C]):
    """A loaded model. `revision` changes with every byte of its file."""

    card: C
    tags: Tags
    pieces: Pieces
    network: Any
    revision: str


def load_model(path: Path) -> LoadedClassifier[TransformerCard]:
    """Load a model. Raises BackendError (permanent) if the file is missing, damaged or of another format."""
    data, _, content = files.unpack(path, FORMAT)
    card = files.card_from(path, TransformerCard, data)
    tags = Tags.of(card.labels)
    network, tokenizer = _network(path, FORMAT, content, AutoModelForTokenClassification, num_labels=len(tags))
    return LoadedClassifier(card, tags, Pieces(tokenizer, card.reading.grouped), network, files.digest(path)[:12])


def load_masked(path: Path) -> LoadedClassifier[MaskedCard]:
    """Load a masked language model. Raises BackendError (permanent) for a missing or damaged file, or another kind."""
    data, _, content = files.unpack(path, MASKED_FORMAT)
    card = files.card_from(path, MaskedCard, data)
    network, tokenizer = _network(path, MASKED_FORMAT, content, AutoModelForMaskedLM)
    return LoadedClassifier(card, Tags.of(()), Pieces(tokenizer), network, files.digest(path)[:12])


def _network(path: Path, format: str, content: bytes, kind: Any, **changes: Any) -> tuple[Any, str]:
    """The network in the content of a weights member, and its tokenizer. `changes`: of the configuration."""
    try:
        said = json.loads(files.header(content)["said"])
        config, tokenizer = said["config"], said["tokenizer"]
        made = CONFIG_MAPPING[config.pop("model_type")](**config | changes)
        network = kind.from_config(made)  # This uses SDPA if the architecture supports it.
        network.load_state_dict(load(content))
    except (ValueError, LookupError, TypeError, AttributeError, RuntimeError, SafetensorError) as error:
        raise files.refused(
            path, format, _("its weights don't fit its configuration ({error})", type(error).__name__)
        ) from None
    return network.eval(), tokenizer


# Load transformers from a folder: only safetensors, no code from the folder, no downloads.


CONFIG: Final = "config.json"
WEIGHTS: Final = "model.safetensors"
WEIGHT_FILES: Final = (CONFIG, FILE, "*.safetensors")
# Largest window (Salierno et al. 2024, section 6), even for models with a longer input.
MOST: Final = 512
# In these architectures, positions begin after the padding index, so windows are shorter than the position table.
SHIFTED: Final = frozenset({"roberta", "xlm-roberta", "camembert", "xlm-roberta-xl", "xmod", "mpnet", "data2vec-text"})


def read_config(folder: Path) -> Any:
    """The configuration. Raises BackendError (permanent) if it needs code from the folder, or can't be read."""
    try:
        said = json.loads((folder / CONFIG).read_text())
        if "auto_map" in said:
            raise BackendError(
                "The folder “{name}” needs code of its own, which is never run. Choose other weights.", folder.name
            )
        return AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise BackendError(
            "The file {config} in “{name}” can't be used ({error}).", CONFIG, folder.name, type(error).__name__
        ) from None


def room(config: Any) -> int:
    """The number of pieces in a window, special pieces included."""
    positions = getattr(config, "max_position_embeddings", None) or MOST
    if config.model_type in SHIFTED:
        positions -= (getattr(config, "pad_token_id", None) or 0) + 1
    if positions < 8:
        raise BackendError("The model's input of {positions} pieces is too short. Choose other weights.", positions)
    return min(MOST, int(positions))


def read_network(folder: Path, kind: Any = AutoModelForTokenClassification, **changes: Any) -> Any:
    """The network with weights in single precision and a head of this kind.

    `changes`: changes to its configuration, such as labels.
    """
    try:
        network = kind.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False, use_safetensors=True, dtype=torch.float32, **changes
        )
    except BackendError:
        raise
    except Exception as error:  # the libraries raise errors of many types
        raise BackendError(
            "The weights in “{name}” can't be read ({error}).", folder.name, type(error).__name__
        ) from None
    return network.eval()


def read_pieces(folder: Path) -> Pieces:
    try:
        return Pieces((folder / FILE).read_text())
    except (OSError, ValueError) as error:
        raise BackendError(
            "The file {file} in “{name}” can't be read ({error}).", FILE, folder.name, type(error).__name__
        ) from None


def padding(config: Any) -> int:
    """The id of the padding piece. Some models derive positions from it."""
    return int(getattr(config, "pad_token_id", None) or 0)


# The starting weights of a training: a folder, or a transformer or masked language model that was trained here.


# Prefixes of the parameters of classification heads in the architectures of transformers.
HEADS: Final = ("classifier.", "score.", "qa_outputs.")


@dataclass(frozen=True)
class StartingPoint:
    """Starting weights. `name` goes into the card; `tokenizer` is the content of a tokenizer.json."""

    name: str
    tokenizer: str
    _path: Path
    _model: LoadedClassifier[Any] | None

    @classmethod
    def at(cls, path: Path) -> "StartingPoint":
        """The weights at `path`, a folder or a model of ours. Raises BackendError (permanent) if they are unusable."""
        if path.suffix == ".zip":
            model = load_masked(path) if files.format_of(path) == MASKED_FORMAT else load_model(path)
            return cls(model.card.base, model.pieces.content, path, model)
        check_files(path, WEIGHT_FILES)
        return cls(path.name, read_pieces(path).content, path, None)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of a model of ours; none of a folder of weights."""
        return self._model.card.labels if self._model else ()

    @property
    def reading(self) -> ReadingMode:
        """How a model of ours with labels reads notes; the default for others."""
        card = self._model and self._model.card
        return card.reading if isinstance(card, TransformerCard) else ReadingMode()

    def pieces(self, grouped: int = 0) -> Pieces:
        return Pieces(self.tokenizer, grouped)

    def network(self, tags: Tags) -> Any:
        """The network with a head for these tags. A model of ours keeps the rows of the tags that it knows."""
        labels = {
            "num_labels": len(tags),
            "id2label": dict(enumerate(tags.names)),
            "label2id": {name: number for number, name in enumerate(tags.names)},
        }
        if self._model is None:
            return read_network(self._path, ignore_mismatched_sizes=True, **labels)
        if self._model.tags.names == tags.names:
            return self._model.network
        config = self._model.network.config
        config.update(labels)
        made = AutoModelForTokenClassification.from_config(config)
        known = self._model.network.state_dict()
        made.load_state_dict({name: known[name] for name in known if not name.startswith(HEADS)}, strict=False)
        _copy_head(known, made.state_dict(), self._model.tags, tags)
        return made

    def masked_lm(self) -> Any:
        """The network with a head for masked words. Raises BackendError (permanent) if its architecture has none."""
        try:
            if self._model is None:
                return read_network(self._path, AutoModelForMaskedLM)
            if not isinstance(self._model.card, TransformerCard):
                return self._model.network
            made = AutoModelForMaskedLM.from_config(self._model.network.config)
        except ValueError:
            raise BackendError(
                "Weights of this architecture don't support language pre-training (masked words). Choose others."
            ) from None
        copy_body(self._model.network, made)
        return made


def _copy_head(known: Mapping[str, Any], made: Mapping[str, Any], earlier: Tags, tags: Tags) -> None:
    """Copy the head: the rows of tags that both have, and whole layers that come before them."""
    rows = shared_rows(earlier.names, tags.names)
    with torch.no_grad():
        for name in (name for name in known if name.startswith(HEADS)):
            if made[name].shape == known[name].shape:
                made[name].copy_(known[name])
            else:
                copy_rows(known[name], made[name], rows)


def copy_body(one: Any, other: Any) -> None:
    """Copy all parameters except the head from one network to another."""
    known: Mapping[str, Any] = one.base_model.state_dict()
    other.base_model.load_state_dict(dict(known), strict=False)
