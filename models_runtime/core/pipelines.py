"""Find the spaCy pipelines on this machine: installed packages, and folders in DATA_DIR/pipelines.

spaCy itself is not imported.
"""

import configparser
import json
import re
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from django.conf import settings

from annotations.text.names import bad_character, unkeepable
from models_runtime.core.external_model import ExternalModel
from models_runtime.core.registry import PIPELINE

GROUP = "spacy_models"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,79}")
# The factories of components whose labels are labels of entities or spans.
FINDERS = ("ner", "beam_ner", "entity_ruler", "span_ruler", "spancat", "spancat_singlelabel")
LARGEST = 10 << 20


def home() -> Path:
    """Return the folder in which an operator puts pipelines."""
    return Path(settings.DATA_DIR / "pipelines")


def pipelines() -> list[ExternalModel]:
    """List all readable pipelines by name. A folder takes precedence over a package with the same name."""
    found = {pipeline.name: pipeline for pipeline in (*_packages(), *_folders())}
    return [found[name] for name in sorted(found)]


def _packages() -> Iterator[ExternalModel]:
    for point in entry_points(group=GROUP):
        if point.dist is None or not NAME.fullmatch(point.name):
            continue
        folder = Path(str(point.dist.locate_file(point.module.replace(".", "/"))))
        # The data of a package is in a subfolder whose name contains the version.
        meta = _json(folder / "meta.json")
        inner = folder / f"{meta.get('lang')}_{meta.get('name')}-{meta.get('version')}"
        yield from _read(point.name, point.name, inner if inner.is_dir() else folder, folder=False)


def _folders() -> Iterator[ExternalModel]:
    if not home().is_dir():
        return
    for folder in sorted(home().iterdir()):
        if NAME.fullmatch(folder.name) and folder.is_dir():
            yield from _read(folder.name, str(folder), folder, folder=True)


def _read(name: str, path: str, data: Path, *, folder: bool) -> Iterator[ExternalModel]:
    """Yield the pipeline whose meta.json and config.cfg are in `data`, or nothing if they can't be read."""
    meta, factories = _json(data / "meta.json"), _factories(data / "config.cfg")
    labels = meta.get("labels")
    if not isinstance(labels, dict) or not factories:
        return
    found = {
        str(label)
        for component, factory in factories.items()
        if factory in FINDERS and isinstance(labels.get(component), list)
        for label in labels[component]
    }
    language, version, description = (str(meta.get(key, ""))[:200] for key in ("lang", "version", "description"))
    if any(map(bad_character, (*found, language, version))) or unkeepable(description):
        return
    yield ExternalModel(PIPELINE, name, path, tuple(sorted(found)), language, version, description, folder=folder)


def _json(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_bytes()) if file.stat().st_size <= LARGEST else None
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _factories(file: Path) -> dict[str, str]:
    """Return each component's factory from the pipeline's configuration."""
    config = configparser.ConfigParser(interpolation=None, strict=False)
    try:
        config.read_string(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, configparser.Error):
        return {}
    return {
        section.removeprefix("components."): config[section].get("factory", "").strip('"')
        for section in config.sections()
        if section.startswith("components.") and section.count(".") == 1
    }
