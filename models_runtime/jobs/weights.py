"""Folders of transformers' weights under DATA_DIR/weights: looked at from outside, no library imported.

A training begins with any of them; one that labels tokens already can be run as it is.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings

from annotations.domain.tag_names import labels_in
from models_runtime.jobs.foreign_model import Foreign
from models_runtime.registry import TAGGER

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,79}")
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
    for folder in sorted(home().iterdir()):
        complete = NAME.fullmatch(folder.name) and folder.is_dir() and all((folder / name).is_file() for name in NEEDED)
        if complete and any(folder.glob("*.safetensors")):
            config = _config(folder / "config.json")
            if config.get("model_type"):
                yield Weights(folder.name, folder, str(config["model_type"])[:40], _labels(config))


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
        return labels_in(map(str, names.values()))
    except ValueError:
        return ()
