"""The starting weights of a training: a folder, or a transformer or masked language model that was trained here."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import torch
from transformers import AutoModelForMaskedLM, AutoModelForTokenClassification

from models_runtime.backends import files
from models_runtime.backends.base import BackendError
from models_runtime.backends.neural.continuing import copy_rows, shared_rows
from models_runtime.backends.neural.tags import Tags
from models_runtime.backends.token_classification.encoding import FILE, Pieces
from models_runtime.backends.token_classification.model import (
    MASKED_FORMAT,
    Loaded,
    LoadedMasked,
    load_masked,
    load_model,
)
from models_runtime.backends.token_classification.network import (
    check_folder,
    read_masked_lm,
    read_network,
    unreadable_tokenizer,
)
from models_runtime.backends.token_classification.reading import Reading

# Prefixes of the parameters of classification heads in the architectures of transformers.
HEADS: Final = ("classifier.", "score.", "qa_outputs.")


@dataclass(frozen=True)
class StartingPoint:
    """Starting weights. `name` goes into the card; `tokenizer` is the content of a tokenizer.json."""

    name: str
    tokenizer: str
    _path: Path
    _model: Loaded | None
    _masked: LoadedMasked | None = None

    @classmethod
    def at(cls, path: Path) -> "StartingPoint":
        """The weights at `path`, a folder or a model of ours. Raises BackendError (permanent) if they are unusable."""
        if path.suffix == ".zip" and files.format_of(path) == MASKED_FORMAT:
            masked = load_masked(path)
            return cls(masked.card.base, masked.pieces.content, path, None, masked)
        if path.suffix == ".zip":
            model = load_model(path)
            return cls(model.card.base, model.pieces.content, path, model)
        check_folder(path)
        try:
            return cls(path.name, (path / FILE).read_text(), path, None)
        except (OSError, ValueError) as error:
            raise unreadable_tokenizer(path, error) from None

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of a model of ours; none of a folder of weights."""
        return self._model.card.labels if self._model else ()

    @property
    def reading(self) -> Reading:
        """How a model of ours reads notes; the default for a folder of weights."""
        return self._model.card.reading if self._model else Reading()

    def pieces(self, grouped: int = 0) -> Pieces:
        return Pieces(self.tokenizer, grouped)

    def network(self, tags: Tags) -> Any:
        """The network with a head for these tags. A model of ours keeps the rows of the tags that it knows."""
        labels = {
            "num_labels": len(tags),
            "id2label": dict(enumerate(tags.names)),
            "label2id": {name: number for number, name in enumerate(tags.names)},
        }
        if self._masked is not None:
            config = self._masked.network.config
            config.update(labels)
            made = AutoModelForTokenClassification.from_config(config)
            copy_body(self._masked.network, made)
            return made
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
        if self._masked is not None:
            return self._masked.network
        try:
            if self._model is None:
                return read_masked_lm(self._path)
            made = AutoModelForMaskedLM.from_config(self._model.network.config)
        except ValueError:
            raise BackendError(
                "Weights of this architecture don't support language pre-training (masked words). Choose others.",
                permanent=True,
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
