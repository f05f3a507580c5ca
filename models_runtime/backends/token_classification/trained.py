"""A transformer that was trained here reads notes."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from annotations.domain.spans import Span
from models_runtime.backends.neural.device import Device, Seat, chosen
from models_runtime.backends.token_classification.model import load_model
from models_runtime.backends.token_classification.network import padding, room
from models_runtime.backends.token_classification.reading import Reader
from models_runtime.backends.token_classification.tagger import Tagger

VERSION: Final = "1"


class TransformerBackend:
    """Reads with the model at `path`. Raises BackendError (permanent) where that is no transformer of ours."""

    name = "transformer"

    def __init__(self, path: str, device: str = "auto") -> None:
        model = load_model(Path(path))
        network = model.network
        self.seat = Seat(chosen(device), network)
        reader = Reader(network, model.pieces.around, most=room(network.config), pad=padding(network.config))
        self.label_set = model.card.label_set
        self.labels = model.card.labels
        self.revision = f"{VERSION}-{model.revision}"
        source = f"transformer-{model.revision[:8]}"
        self._tagger = Tagger(model.pieces, reader, model.tags, lambda scores: scores, source)

    @property
    def device(self) -> Device:
        """Where it computes now."""
        return self.seat.device

    def predict(self, texts: Sequence[str]) -> list[list[Span]]:
        """The spans of each text: sorted, trimmed, none overlapping another."""
        return list(self.stream(texts))

    def stream(self, texts: Iterable[str]) -> Iterator[list[Span]]:
        """The spans of each text, a block of texts at a time."""
        return self._tagger.stream(texts, self.seat)
