"""Folders of transformers' weights under DATA_DIR/weights: looked at from outside, no library imported.

A training begins with any of them; one that labels tokens already can be run as it is. What the Hugging Face Hub's own
client fetched into there (`hf download ORG/NAME --cache-dir DATA_DIR/weights`) is called by its id; nothing is fetched
from here.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

from annotations.domain.names import bad_character
from annotations.domain.tag_names import labels_in
from models_runtime.core.foreign_model import Foreign
from models_runtime.core.registry import TAGGER

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,79}")
# How the Hub's client lays a repository out: its snapshots by commit, and which of them a branch is.
OF_HUB = re.compile(r"models--(?:([A-Za-z0-9][A-Za-z0-9_.-]*?)--)?([A-Za-z0-9][A-Za-z0-9_.-]*)")
COMMIT = re.compile(r"[0-9a-f]{40}")
NEEDED = ("config.json", "tokenizer.json")
LARGEST = 10 << 20
# How the library names architectures that label tokens: BertForTokenClassification.
TAGS = "ForTokenClassification"


@dataclass(frozen=True)
class Weights:
    """A folder that can be begun with. `labels` are empty where it labels nothing yet."""

    name: str
    path: Path
    kind: str
    labels: tuple[str, ...]


def home() -> Path:
    """Where folders are put."""
    return Path(settings.DATA_DIR / "weights")


def weights() -> list[Weights]:
    """All that have a configuration, a tokenizer and safetensors, by name."""
    return list(_found()) if home().is_dir() else []


def weights_named(name: str) -> Weights | None:
    return next((row for row in weights() if row.name == name), None)


def taggers() -> list[Foreign]:
    """Those that label tokens already."""
    return [
        Foreign(TAGGER, row.name, str(row.path), row.labels, told=f"{row.kind}, {len(row.labels)} labels")
        for row in weights()
        if row.labels
    ]


def _found() -> Iterator[Weights]:
    for name, folder in _folders():
        if all((folder / needed).is_file() for needed in NEEDED) and any(folder.glob("*.safetensors")):
            config = _config(folder / "config.json")
            if config.get("model_type"):
                yield Weights(name, folder, str(config["model_type"])[:40], _labels(config))


def _folders() -> Iterator[tuple[str, Path]]:
    for folder in sorted(home().iterdir()):
        if not folder.is_dir():
            continue
        if of_hub := OF_HUB.fullmatch(folder.name):
            if snapshot := _snapshot(folder):
                yield "/".join(filter(None, of_hub.groups())), snapshot
        elif NAME.fullmatch(folder.name):
            yield folder.name, folder


def _snapshot(folder: Path) -> Path | None:
    """What the main branch was when it was fetched last; of one fetched by its commit alone, the only one there is."""
    try:
        commit = (folder / "refs" / "main").read_text(encoding="utf-8").strip()
    except (OSError, ValueError):
        there = [path.name for path in (folder / "snapshots").glob("*")]
        commit = there[0] if len(there) == 1 else ""
    return folder / "snapshots" / commit if COMMIT.fullmatch(commit) else None


def _config(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_bytes()) if file.stat().st_size <= LARGEST else None
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _labels(config: dict[str, Any]) -> tuple[str, ...]:
    names, kinds = config.get("id2label"), config.get("architectures")
    if (
        not isinstance(names, dict)
        or not isinstance(kinds, list)
        or not any(str(kind).endswith(TAGS) for kind in kinds)
    ):
        return ()
    try:
        labels = labels_in(map(str, names.values()))
    except ValueError:
        return ()
    return () if any(map(bad_character, labels)) else labels
