"""What a training begins with: a folder of somebody's weights, or a transformer that was trained here."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from transformers import AutoModelForMaskedLM, AutoModelForTokenClassification

from models_runtime.backends.base import BackendError
from models_runtime.backends.neural.tags import Tags
from models_runtime.backends.token_classification.encoding import FILE, Pieces
from models_runtime.backends.token_classification.model import Loaded, load_model
from models_runtime.backends.token_classification.network import check_folder, read_filler, read_network

# Heads of token classification, by the names that the library's architectures give them.
HEADS: Final = ("classifier.", "score.", "qa_outputs.")


@dataclass(frozen=True)
class Beginning:
    """`name` goes into the card; `tokenizer` is the content of a tokenizer.json."""

    name: str
    tokenizer: str
    _place: Path
    _model: Loaded | None

    @classmethod
    def at(cls, place: Path) -> "Beginning":
        """Raises BackendError (permanent) where there is neither a usable folder nor a transformer of ours."""
        if place.suffix == ".zip":
            model = load_model(place)
            return cls(model.card.base, model.pieces.content, place, model)
        check_folder(place)
        try:
            return cls(place.name, (place / FILE).read_text(), place, None)
        except (OSError, ValueError) as error:
            raise BackendError(f"{place.name}: {FILE} can't be read ({type(error).__name__})", permanent=True) from None

    def pieces(self) -> Pieces:
        return Pieces(self.tokenizer)

    def network(self, tags: Tags) -> Any:
        """The network with a head for these tags: its own where they are the same, else a new one."""
        labels = {
            "num_labels": len(tags),
            "id2label": dict(enumerate(tags.names)),
            "label2id": {name: number for number, name in enumerate(tags.names)},
        }
        if self._model is None:
            return read_network(self._place, ignore_mismatched_sizes=True, **labels)
        if self._model.tags.names == tags.names:
            return self._model.network
        config = self._model.network.config
        config.update(labels)
        made = AutoModelForTokenClassification.from_config(config)
        known = self._model.network.state_dict()
        made.load_state_dict({name: known[name] for name in known if not name.startswith(HEADS)}, strict=False)
        return made

    def filler(self) -> Any:
        """The network with a head that fills gaps. Raises BackendError (permanent) where its kind has none."""
        try:
            if self._model is None:
                return read_filler(self._place)
            made = AutoModelForMaskedLM.from_config(self._model.network.config)
        except ValueError:
            raise BackendError(
                "weights of this kind can't be adapted: they know no masked words", permanent=True
            ) from None
        give(self._model.network, made)
        return made


def give(one: Any, other: Any) -> None:
    """Copy what the two networks have in common, all but their heads."""
    known: Mapping[str, Any] = one.base_model.state_dict()
    other.base_model.load_state_dict(dict(known), strict=False)
