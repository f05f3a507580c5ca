"""spaCy pipelines on this machine: installed packages, and folders under DATA_DIR/pipelines; without spaCy."""

import configparser
import json
import re
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from django.conf import settings

from annotations.domain.names import bad_character, unkeepable
from models_runtime.core.foreign_model import Foreign
from models_runtime.core.registry import PIPELINE

GROUP = "spacy_models"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,79}")
# Factories of components whose labels are those of entities or spans.
FINDERS = ("ner", "beam_ner", "entity_ruler", "span_ruler", "spancat", "spancat_singlelabel")
LARGEST = 10 << 20


def home() -> Path:
    """Where folders are put."""
    return Path(settings.DATA_DIR / "pipelines")


def pipelines() -> list[Foreign]:
    """All that can be read, by name; a folder wins over a package of its name."""
    found = {pipeline.name: pipeline for pipeline in (*_packages(), *_folders())}
    return [found[name] for name in sorted(found)]


def _packages() -> Iterator[Foreign]:
    for point in entry_points(group=GROUP):
        if point.dist is None or not NAME.fullmatch(point.name):
            continue
        folder = Path(str(point.dist.locate_file(point.module.replace(".", "/"))))
        # The package's own data lies one folder further down, named with its version.
        meta = _json(folder / "meta.json")
        inner = folder / f"{meta.get('lang')}_{meta.get('name')}-{meta.get('version')}"
        yield from _read(point.name, point.name, inner if inner.is_dir() else folder, folder=False)


def _folders() -> Iterator[Foreign]:
    if not home().is_dir():
        return
    for folder in sorted(home().iterdir()):
        if NAME.fullmatch(folder.name) and folder.is_dir():
            yield from _read(folder.name, str(folder), folder, folder=True)


def _read(name: str, path: str, data: Path, *, folder: bool) -> Iterator[Foreign]:
    """The pipeline whose meta.json and config.cfg lie in `data`; nothing where they can't be read."""
    meta, factories = _json(data / "meta.json"), _factories(data / "config.cfg")
    labels = meta.get("labels")
    if not isinstance(labels, dict) or not factories:
        return
    spoken = {
        str(label)
        for component, factory in factories.items()
        if factory in FINDERS and isinstance(labels.get(component), list)
        for label in labels[component]
    }
    language, version, told = (str(meta.get(key, ""))[:200] for key in ("lang", "version", "description"))
    if any(map(bad_character, (*spoken, language, version))) or unkeepable(told):
        return
    yield Foreign(PIPELINE, name, path, tuple(sorted(spoken)), language, version, told, folder=folder)


def _json(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_bytes()) if file.stat().st_size <= LARGEST else None
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _factories(file: Path) -> dict[str, str]:
    """Each component's factory, as the pipeline's configuration has it."""
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
