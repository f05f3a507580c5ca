"""The backend for transformers that were trained here."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from annotations.text.spans import Span
from models_runtime.backends.marginals import Marked
from models_runtime.backends.neural.device import Device, Placement, choose_device
from models_runtime.backends.token_classification.model import load_model
from models_runtime.backends.token_classification.network import padding, room
from models_runtime.backends.token_classification.scoring import Scorer
from models_runtime.backends.token_classification.tagger import Tagger

VERSION: Final = "1"


class TransformerBackend:
    """Predicts with the model at `path`. Raises BackendError (permanent) for any other file."""

    name = "transformer"

    def __init__(self, path: str, device: str = "auto") -> None:
        model = load_model(Path(path))
        network = model.network
        self.placement = Placement(choose_device(device), network)
        reading, config = model.card.reading, network.config
        scorer = Scorer(network, model.pieces.around, most=room(config), pad=padding(config), disjoint=reading.disjoint)
        self.label_set = model.card.label_set
        self.labels = model.card.labels
        self.revision = f"{VERSION}-{model.revision}"
        source = f"transformer-{model.revision[:8]}"
        self._tagger = Tagger(model.pieces, scorer, model.tags, lambda scores: scores, source, reading.decoding)

    @property
    def device(self) -> Device:
        """The device that it computes on at present."""
        return self.placement.device

    def predict(self, texts: Sequence[str]) -> list[list[Span]]:
        """The spans of each text: sorted, trimmed, without overlaps."""
        return list(self.stream(texts))

    def predict_marginals(self, texts: Sequence[str]) -> list[Marked]:
        """The spans of each text, and the probabilities of the labels at its tokens."""
        return list(self._tagger.marginals(texts, self.placement))

    def stream(self, texts: Iterable[str]) -> Iterator[list[Span]]:
        """The spans of each text, in order, computed in blocks of texts."""
        return self._tagger.stream(texts, self.placement)
