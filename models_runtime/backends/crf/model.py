"""A trained CRF on disk: one zip of our own making, read without running anything that is in it.

`card.json` says what it is (label set, labels, how it was trained), `model.crfsuite` holds the weights as crfsuite
writes them, `lexicon.json` what was learned from notes without labels.
"""

import hashlib
import json
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import pycrfsuite

from annotations.domain.bio import OUTSIDE, split_tag
from models_runtime.backends.base import BackendError
from models_runtime.backends.crf.weights import MAGIC, known_features

FORMAT: Final = "deidreview-crf-1"
MEMBERS: Final = ("card.json", "lexicon.json", "model.crfsuite")
WEIGHTS: Final = "model.crfsuite"
BIGGEST: Final = 1 << 30


@dataclass(frozen=True, slots=True)
class Card:
    """What a model says of itself. `rules_set` is the label set in which the rules spoke to it."""

    label_set: str
    labels: tuple[str, ...]
    algorithm: str
    rules_set: str
    notes: int
    iterations: int
    format: str = FORMAT


def pack(path: Path, card: Card, weights: Path, lexicon: Mapping[str, list[str]]) -> str:
    """Write a model; returns the sha256 of its content. The same content gives the same file."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in (
            (MEMBERS[0], _json(asdict(card))),
            (MEMBERS[1], _json(lexicon)),
            (MEMBERS[2], weights.read_bytes()),
        ):
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED)
    return digest(path)


def _json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, sort_keys=True).encode()


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@dataclass(frozen=True, slots=True)
class Model:
    """A loaded model; `revision` changes with every byte of it. `known` are the features that it has weights for."""

    card: Card
    lexicon: dict[str, tuple[str, ...]]
    known: frozenset[bytes]
    tagger: Any
    # crfsuite reads them where they lie and keeps no hold of them.
    weights: bytes
    revision: str


def load_model(path: Path) -> Model:
    """Raises BackendError (permanent) for what is missing, no model of this kind, or damaged."""
    try:
        with zipfile.ZipFile(path) as archive:
            sizes = {member.filename: member.file_size for member in archive.infolist()}
            if set(sizes) != set(MEMBERS):
                raise _refused(path, f"it must hold exactly {', '.join(MEMBERS)}")
            if sum(sizes.values()) > BIGGEST:
                raise _refused(path, "it is larger than 1 GiB when unpacked")
            card = _card(path, json.loads(archive.read(MEMBERS[0])))
            lexicon = _lexicon(path, json.loads(archive.read(MEMBERS[1])))
            weights = archive.read(WEIGHTS)
    except FileNotFoundError:
        raise BackendError(f"the model {path.name} is not there", permanent=True) from None
    except (OSError, zipfile.BadZipFile, ValueError, RecursionError) as error:
        raise _refused(path, f"it can't be read ({type(error).__name__})") from None
    if not weights.startswith(MAGIC):
        raise _refused(path, "its weights are not crfsuite's")
    tagger = pycrfsuite.Tagger()
    try:
        tagger.open_inmemory(weights)
        tags = tagger.labels()
        known = known_features(weights)
    except Exception as error:  # crfsuite raises RuntimeError and ValueError, whatever is wrong
        raise _refused(path, f"crfsuite can't open its weights ({type(error).__name__})") from None
    _check_labels(path, card, tags)
    return Model(card, lexicon, known, tagger, weights, digest(path)[:12])


def _refused(path: Path, why: str) -> BackendError:
    return BackendError(f"{path.name} is no {FORMAT} model: {why}", permanent=True)


def _card(path: Path, data: object) -> Card:
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise _refused(path, f"its card must say {FORMAT}")
    try:
        card = Card(**data | {"labels": tuple(data["labels"])})
    except (TypeError, KeyError):
        raise _refused(path, "its card has other fields than a model's") from None
    words = (card.label_set, card.algorithm, card.rules_set, *card.labels)
    if not all(isinstance(word, str) for word in words) or list(card.labels) != sorted(set(card.labels)):
        raise _refused(path, "its card's labels must be words in order")
    return card


def _lexicon(path: Path, data: object) -> dict[str, tuple[str, ...]]:
    if not isinstance(data, dict) or not all(isinstance(fields, list) for fields in data.values()):
        raise _refused(path, "its lexicon must be words with their fields")
    return {word: tuple(map(str, fields)) for word, fields in data.items()}


def _check_labels(path: Path, card: Card, tags: list[str]) -> None:
    try:
        known = {split_tag(tag)[1] for tag in tags if tag != OUTSIDE}
    except ValueError:
        raise _refused(path, "its weights hold labels that are no BIO tags") from None
    if not known <= set(card.labels):
        raise _refused(path, "its weights hold labels that its card doesn't name")
