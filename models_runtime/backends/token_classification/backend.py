"""The backend for transformers trained elsewhere: weights from a folder, with labels mapped to a label set."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from annotations.text.spans import Span
from models_runtime.backends.marginals import Marked
from models_runtime.backends.neural.device import Device, Placement, choose_device
from models_runtime.backends.neural.stored import name_of
from models_runtime.backends.token_classification.encoding import FILE
from models_runtime.backends.token_classification.foreign import Columns
from models_runtime.backends.token_classification.network import (
    CONFIG,
    check_folder,
    padding,
    read_config,
    read_network,
    read_pieces,
    room,
)
from models_runtime.backends.token_classification.scoring import Scorer
from models_runtime.backends.token_classification.tagger import Tagger

VERSION: Final = "2"


class TokenClassificationBackend:
    """Predicts with the weights in the folder `path` (safetensors; no code from the folder is run).

    `labels` maps each of the model's labels to a code in `label_set`, or to None for spans to leave out. Raises
    BackendError (permanent) for a folder with missing files, or an incomplete map.
    """

    name = "token-classification"

    def __init__(self, path: str, label_set: str, labels: Mapping[str, str | None], device: str = "auto") -> None:
        folder = Path(path)
        check_folder(folder)
        config = read_config(folder)
        columns = Columns([config.id2label[number] for number in range(config.num_labels)], labels)
        self.label_set = label_set
        self.labels = tuple(sorted({label for label in labels.values() if label}))
        digest = _digest(folder)
        self.revision = f"{VERSION}-{digest}-{_short(repr(sorted(labels.items())))}"
        pieces = read_pieces(folder)
        network = read_network(folder)
        self.placement = Placement(choose_device(device), network)
        scorer = Scorer(network, pieces.around, most=room(config), pad=padding(config))
        source = f"{name_of(folder)[:60]}-{digest[:8]}"
        self._tagger = Tagger(
            pieces, scorer, columns.tags, columns, source, probabilities=columns.probabilities, barred=columns.barred
        )

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


def _digest(folder: Path) -> str:
    """A hash of all files that the output depends on."""
    names = [CONFIG, FILE, *sorted(path.name for path in folder.glob("*.safetensors"))]
    whole = hashlib.sha256()
    for name in names:
        with (folder / name).open("rb") as file:
            whole.update(hashlib.file_digest(file, "sha256").digest())
    return whole.hexdigest()[:12]


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]
