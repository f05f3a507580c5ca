"""A transformer from a folder that the operator put there: somebody else's model in the words of our label set."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from annotations.domain.spans import Span
from models_runtime.backends.neural.device import Device, Seat, chosen
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
from models_runtime.backends.token_classification.reading import Reader
from models_runtime.backends.token_classification.tagger import Tagger

VERSION: Final = "1"


class TokenClassificationBackend:
    """Reads with the weights in the folder `path` (safetensors, never code of its own).

    `labels` gives each label of theirs its code in `label_set`, or None where it is nothing personal. Raises
    BackendError (permanent) for a folder that lacks something, or a map that does.
    """

    name = "token-classification"

    def __init__(self, path: str, label_set: str, labels: Mapping[str, str | None], device: str = "auto") -> None:
        place = Path(path)
        check_folder(place)
        config = read_config(place)
        columns = Columns([config.id2label[number] for number in range(config.num_labels)], labels)
        self.label_set = label_set
        self.labels = tuple(sorted({label for label in labels.values() if label}))
        digest = _digest(place)
        self.revision = f"{VERSION}-{digest}-{_short(repr(sorted(labels.items())))}"
        pieces = read_pieces(place)
        network = read_network(place)
        self.seat = Seat(chosen(device), network)
        reader = Reader(network, pieces.around, most=room(config), pad=padding(config))
        self._tagger = Tagger(pieces, reader, columns.tags, columns, f"{_called(place)[:60]}-{digest[:8]}")

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


def _digest(folder: Path) -> str:
    """Of everything that its output depends on."""
    names = [CONFIG, FILE, *sorted(path.name for path in folder.glob("*.safetensors"))]
    whole = hashlib.sha256()
    for name in names:
        with (folder / name).open("rb") as file:
            whole.update(hashlib.file_digest(file, "sha256").digest())
    return whole.hexdigest()[:12]


def _called(folder: Path) -> str:
    """A snapshot of the Hub's client is called after its repository, not its commit."""
    return folder.parents[1].name.rpartition("--")[2] if folder.parent.name == "snapshots" else folder.name


def _short(words: str) -> str:
    return hashlib.sha256(words.encode()).hexdigest()[:8]
