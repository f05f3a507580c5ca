"""Find the folders with weights of transformers in DATA_DIR/weights. No library is imported.

A training can start from any of them. Weights that already label tokens can also be run without training. A folder
that the client of the Hugging Face Hub made (`hf download ORG/NAME --cache-dir DATA_DIR/weights`) has the name
ORG/NAME. deidreview downloads nothing itself.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

from annotations.text.bio import labels_in, scheme_of
from annotations.text.names import bad_character
from models_runtime.core.external_model import ExternalModel
from models_runtime.core.registry import TAGGER

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,79}")
# The client of the Hub stores snapshots by commit, and for each branch its commit.
OF_HUB = re.compile(r"models--(?:([A-Za-z0-9][A-Za-z0-9_.-]*?)--)?([A-Za-z0-9][A-Za-z0-9_.-]*)")
COMMIT = re.compile(r"[0-9a-f]{40}")
NEEDED = ("config.json", "tokenizer.json")
LARGEST = 10 << 20
# The suffix of architectures that label tokens, such as BertForTokenClassification.
TAGS = "ForTokenClassification"


@dataclass(frozen=True)
class Weights:
    """A folder that a training can start from. `labels` and `scheme` are empty if the weights don't label tokens."""

    name: str
    path: Path
    kind: str
    labels: tuple[str, ...]
    scheme: str = ""


def home() -> Path:
    """Return the folder in which an operator puts weights."""
    return Path(settings.DATA_DIR / "weights")


def weights() -> list[Weights]:
    """List all folders with a configuration, a tokenizer and safetensors, by name."""
    return list(_found())


def weights_named(name: str) -> Weights | None:
    return next((row for row in weights() if row.name == name), None)


def taggers() -> list[ExternalModel]:
    """List the weights that already label tokens."""
    return [
        ExternalModel(
            TAGGER,
            row.name,
            str(row.path),
            row.labels,
            description=f"{row.kind}, {len(row.labels)} labels, {row.scheme} tags",
        )
        for row in weights()
        if row.labels
    ]


def _found() -> Iterator[Weights]:
    for name, folder in folders_with(NEEDED):
        if any(folder.glob("*.safetensors")):
            config = read_json(folder / "config.json")
            if config.get("model_type"):
                yield Weights(name, folder, str(config["model_type"])[:40], *_labels(config))


def folders_with(files: Sequence[str]) -> Iterator[tuple[str, Path]]:
    """Yield the name and path of each folder of weights with these files, by the name of the folder on disk."""
    for name, folder in _folders():
        if all((folder / file).is_file() for file in files):
            yield name, folder


def _folders() -> Iterator[tuple[str, Path]]:
    for folder in sorted(home().iterdir()) if home().is_dir() else ():
        if not folder.is_dir():
            continue
        if of_hub := OF_HUB.fullmatch(folder.name):
            if snapshot := _snapshot(folder):
                yield "/".join(filter(None, of_hub.groups())), snapshot
        elif NAME.fullmatch(folder.name):
            yield folder.name, folder


def _snapshot(folder: Path) -> Path | None:
    """Return the snapshot of the branch main, or the only snapshot if the branch is unknown."""
    try:
        commit = (folder / "refs" / "main").read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        snapshots = [path.name for path in (folder / "snapshots").glob("*")]
        commit = snapshots[0] if len(snapshots) == 1 else ""
    return folder / "snapshots" / commit if COMMIT.fullmatch(commit) else None


def read_json(file: Path) -> dict[str, Any]:
    """Return the object in a JSON file; empty if the file can't be read or is too large."""
    try:
        found = json.loads(file.read_bytes()) if file.stat().st_size <= LARGEST else None
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _labels(config: dict[str, Any]) -> tuple[tuple[str, ...], str]:
    """Return the labels and the scheme of the tags; both are empty if the weights don't label tokens."""
    names, kinds = config.get("id2label"), config.get("architectures")
    if (
        not isinstance(names, dict)
        or not isinstance(kinds, list)
        or not any(str(kind).endswith(TAGS) for kind in kinds)
    ):
        return (), ""
    tags = [str(name) for name in names.values()]
    try:
        labels = labels_in(tags)
    except ValueError:
        return (), ""
    return ((), "") if any(map(bad_character, labels)) else (labels, scheme_of(tags))
