"""The backends for transformers: trained here, and from a folder of weights with labels mapped to a label set."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from annotations.text.bio import marks_and_labels
from models_runtime.backends.base import BackendError
from models_runtime.backends.neural.crf import Tags
from models_runtime.backends.neural.device import Placement, check_files, choose_device, digest_of, name_of
from models_runtime.backends.token_classification import model
from models_runtime.backends.token_classification.encoding import FILE
from models_runtime.backends.token_classification.tagger import Scorer, Tagger, TaggerBackend

# Map the tags of a model trained elsewhere (BIO, IO, BIOES, BILOU) to BIO tags of a label set.


_PREFIXES: Final = {"B": "B", "U": "B", "S": "B", "I": "I", "L": "I", "E": "I", "M": "I"}
_STARTS: Final = frozenset("BUS")
# Without a tag for the start of a span, a run of one label is one span, so I- gets a slightly better score than B-.
LITTLE: Final = 1e-3
# What is added to the score of a path at each I- that follows O or another label. In IOB1, all spans begin so; in the
# other schemes, this is a mistake, so the same span with a B- wins unless B- is less than a twentieth as likely as I-.
UNMARKED_START: Final = float(np.log(1 / 20))


class Columns:
    """Maps the model's score columns to those of `tags`. `labels` maps the model's labels to ours.

    The probability of a label that is mapped to None goes to `O`. A label without a tag for the start of a span (IO)
    may start anywhere. Raises BackendError (permanent) unless the map has exactly the model's labels.
    """

    def __init__(self, names: Sequence[str], labels: Mapping[str, str | None]) -> None:
        read = _read(names)
        theirs = {label for _, label in read if label}
        if missing := sorted(theirs - set(labels)):
            names = ", ".join(missing)
            raise BackendError("The label map lacks labels of the model: {names}.", names)
        if unknown := sorted(set(labels) - theirs):
            raise BackendError("The model has no labels {unknown}. Remove them from the map.", ", ".join(unknown))
        self.tags = Tags.of(sorted({label for label in labels.values() if label}))
        self._from: list[list[tuple[int, float]]] = [[] for _ in self.tags.names]
        # The same, but each column of the model is in one of our columns only, so that probabilities add up to 1.
        self._once: list[list[tuple[int, float]]] = [[] for _ in self.tags.names]
        marked = {label for prefix, label in read if prefix in _STARTS}
        for column, (prefix, label) in enumerate(read):
            ours = labels[label] if label else None
            to = 0 if ours is None else self.tags.number(f"{_PREFIXES[prefix] if prefix else 'I'}-{ours}")
            for each in (self._from, self._once):
                each[to].append((column, 0.0))
            if ours is not None and label not in marked:
                self._from[self.tags.number(f"B-{ours}")].append((column, -LITTLE))

    @property
    def barred(self) -> tuple[Any, Any]:
        """Scores to add for the first tag [tags] and for transitions [from, to]."""
        return self.tags.barred(UNMARKED_START)

    def __call__(self, scores: Any) -> Any:
        """Convert log probabilities [pieces, model's tags] to scores of paths [pieces, our tags]."""
        return np.stack([_sum(scores, columns) for columns in self._from], axis=1)

    def probabilities(self, scores: Any) -> Any:
        """Convert log probabilities [pieces, model's tags] to probabilities [pieces, our tags], which add up to 1."""
        return np.exp(np.stack([_sum(scores, columns) for columns in self._once], axis=1))


def _read(names: Sequence[str]) -> list[tuple[str, str]]:
    try:
        return marks_and_labels(names)
    except ValueError as error:
        raise BackendError(str(error)) from None


def _sum(scores: Any, columns: Sequence[tuple[int, float]]) -> Any:
    if not columns:
        return np.full(len(scores), -np.inf, dtype=np.float32)
    return np.logaddexp.reduce([scores[:, column] + shift for column, shift in columns], axis=0)


VERSION: Final = "2"
TRAINED_VERSION: Final = "1"


class TokenClassificationBackend(TaggerBackend):
    """Predicts with the weights in the folder `path` (safetensors; no code from the folder is run).

    `labels` maps each of the model's labels to a code in `label_set`, or to None for spans to leave out. Raises
    BackendError (permanent) for a folder with missing files, or an incomplete map.
    """

    name = "token-classification"

    def __init__(self, path: str, label_set: str, labels: Mapping[str, str | None], device: str = "auto") -> None:
        folder = Path(path)
        check_files(folder, model.WEIGHT_FILES)
        config = model.read_config(folder)
        columns = Columns([config.id2label[number] for number in range(config.num_labels)], labels)
        self.label_set = label_set
        self.labels = tuple(sorted({label for label in labels.values() if label}))
        digest = digest_of(folder, [model.CONFIG, FILE, *sorted(path.name for path in folder.glob("*.safetensors"))])
        self.revision = f"{VERSION}-{digest}-{_short(repr(sorted(labels.items())))}"
        pieces = model.read_pieces(folder)
        network = model.read_network(folder)
        self.placement = Placement(choose_device(device), network)
        scorer = Scorer(network, pieces.around, most=model.room(config), pad=model.padding(config))
        source = f"{name_of(folder)[:60]}-{digest[:8]}"
        self._tagger = Tagger(
            pieces, scorer, columns.tags, columns, source, probabilities=columns.probabilities, barred=columns.barred
        )


class TransformerBackend(TaggerBackend):
    """Predicts with the model at `path`. Raises BackendError (permanent) for any other file."""

    name = "transformer"

    def __init__(self, path: str, device: str = "auto") -> None:
        trained = model.load_model(Path(path))
        network = trained.network
        self.placement = Placement(choose_device(device), network)
        reading, config = trained.card.reading, network.config
        limits = {"most": model.room(config), "pad": model.padding(config)}
        scorer = Scorer(network, trained.pieces.around, **limits, disjoint=reading.disjoint)
        self.label_set = trained.card.label_set
        self.labels = trained.card.labels
        self.revision = f"{TRAINED_VERSION}-{trained.revision}"
        source = f"transformer-{trained.revision[:8]}"
        self._tagger = Tagger(trained.pieces, scorer, trained.tags, lambda scores: scores, source, reading.decoding)


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]
