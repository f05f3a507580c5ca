"""External models, trained elsewhere with other labels: spaCy pipelines, folders of weights, and models on servers.

An operator installs them with pip, copies them, or lists their servers. An uploaded file never becomes an external
model. No library is imported to find them.
"""

import configparser
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

from django.conf import settings

from annotations.text.bio import labels_in, scheme_of, without_special
from annotations.text.names import bad_character, unkeepable
from models_runtime.backends.listed import ListedServer
from models_runtime.backends.remote.servers import PROTOCOLS
from models_runtime.core.registry import FLAIR, GLINER, PIPELINE, REMOTE, TAGGER, TrainableKind


@dataclass(frozen=True)
class ExternalModel:
    """A model that was trained elsewhere. `backend` is the key of its backend; `labels` are the model's own labels.

    `zero_shot`: it has no labels of its own, and finds what words of the project describe.

    `path` is the package or folder that it is loaded from; `folder` tells whether it is a folder. A model on another
    server has a `server` in place of a path.
    """

    backend: str
    name: str
    path: str
    labels: tuple[str, ...]
    language: str = ""
    version: str = ""
    description: str = ""
    folder: bool = True
    server: ListedServer | None = None
    zero_shot: bool = False


# Find the spaCy pipelines on this machine: installed packages, and folders in DATA_DIR/pipelines.
#
# spaCy itself is not imported.


GROUP = "spacy_models"
PIPELINE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,79}")
# The factories of components whose labels are labels of entities or spans.
FINDERS = ("ner", "beam_ner", "entity_ruler", "span_ruler", "spancat", "spancat_singlelabel")


def pipelines_home() -> Path:
    """Return the folder in which an operator puts pipelines."""
    return Path(settings.DATA_DIR / "pipelines")


def pipelines() -> list[ExternalModel]:
    """List all readable pipelines by name. A folder takes precedence over a package with the same name."""
    found = {pipeline.name: pipeline for pipeline in (*_packages(), *_pipeline_folders())}
    return [found[name] for name in sorted(found)]


def _inside(home: Path) -> list[Path]:
    """List what is in a folder, sorted; empty if there is no such folder."""
    return sorted(home.iterdir()) if home.is_dir() else []


def _packages() -> Iterator[ExternalModel]:
    for point in entry_points(group=GROUP):
        if point.dist is None or not PIPELINE_NAME.fullmatch(point.name):
            continue
        folder = Path(str(point.dist.locate_file(point.module.replace(".", "/"))))
        # The data of a package is in a subfolder whose name contains the version.
        meta = read_json(folder / "meta.json")
        inner = folder / f"{meta.get('lang')}_{meta.get('name')}-{meta.get('version')}"
        yield from _read_pipeline(point.name, point.name, inner if inner.is_dir() else folder, folder=False)


def _pipeline_folders() -> Iterator[ExternalModel]:
    for folder in _inside(pipelines_home()):
        if PIPELINE_NAME.fullmatch(folder.name) and folder.is_dir():
            yield from _read_pipeline(folder.name, str(folder), folder, folder=True)


def _read_pipeline(name: str, path: str, data: Path, *, folder: bool) -> Iterator[ExternalModel]:
    """Yield the pipeline whose meta.json and config.cfg are in `data`, or nothing if they can't be read."""
    meta, factories = read_json(data / "meta.json"), _factories(data / "config.cfg")
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


# Find the folders with weights of transformers in DATA_DIR/weights. No library is imported.
#
# A training can start from any of them. Weights that already label tokens can also be run without training. A folder
# that the client of the Hugging Face Hub made (`hf download ORG/FOLDER_NAME --cache-dir DATA_DIR/weights`) has the name
# ORG/FOLDER_NAME. deidreview downloads nothing itself.


FOLDER_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,79}")
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


def weights_home() -> Path:
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
        ExternalModel(TAGGER, row.name, str(row.path), row.labels, description=about)
        for row in weights()
        for about in [f"{row.kind}, {len(row.labels)} labels, {row.scheme} tags"]
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
    for folder in _inside(weights_home()):
        if not folder.is_dir():
            continue
        if of_hub := OF_HUB.fullmatch(folder.name):
            if snapshot := _snapshot(folder):
                yield "/".join(filter(None, of_hub.groups())), snapshot
        elif FOLDER_NAME.fullmatch(folder.name):
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


# Written by the script in docs/flair.md.
FLAIR_FORMAT = "deidreview-flair-1"
OF_FLAIR = ("config.json", "words.json", "model.safetensors")
OF_GLINER = ("gliner_config.json", "tokenizer.json", "model.safetensors")


def flair_taggers() -> list[ExternalModel]:
    """List the folders of converted Flair taggers by name, with their labels."""
    found = []
    for name, folder in folders_with(OF_FLAIR):
        config = read_json(folder / "config.json")
        tags = config.get("tags")
        if config.get("format") != FLAIR_FORMAT or not isinstance(tags, list):
            continue
        try:
            labels = labels_in(without_special(map(str, tags)))
        except ValueError:
            continue
        if labels and not any(map(bad_character, labels)):
            found.append(ExternalModel(FLAIR, name, str(folder), labels, description=f"{len(labels)} labels"))
    return found


def zero_shot_models() -> list[ExternalModel]:
    """List the folders with a configuration of GLiNER, a tokenizer and safetensors, by name."""
    found = []
    for name, folder in folders_with(OF_GLINER):
        if config := read_json(folder / "gliner_config.json"):
            encoder = config.get("encoder_config")
            kind = encoder.get("model_type") if isinstance(encoder, dict) else None
            about = f"{str(kind)[:40]}, {str(config.get('span_mode'))[:40]}"
            if not unkeepable(about):
                found.append(ExternalModel(GLINER, name, str(folder), (), description=about, zero_shot=True))
    return found


def remote_models() -> list[ExternalModel]:
    """List the models in DEIDREVIEW_REMOTE_MODELS by name."""
    return [
        ExternalModel(
            REMOTE, server.name, "", server.labels, description=PROTOCOLS[server.protocol], folder=False, server=server
        )
        for _name, server in sorted(settings.REMOTE_MODELS.items())
    ]


FOUND = {PIPELINE: pipelines, TAGGER: taggers, FLAIR: flair_taggers, GLINER: zero_shot_models, REMOTE: remote_models}


def external_models() -> list[ExternalModel]:
    """List all external models, by kind and name."""
    return [model for found in FOUND.values() for model in found()]


def external_model_named(backend: str, name: str) -> ExternalModel | None:
    return next((model for model in FOUND[backend]() if model.name == name), None)


# Find the files of word vectors that users bring, in DATA_DIR/embeddings. No file is opened.
#
# Formats: models_runtime.backends.bilstm_crf.word_files. deidreview downloads nothing itself.


# No comma, which separates names in the setting.
WORD_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,119}")


def embeddings_home() -> Path:
    """Return the folder in which an operator puts files of word vectors."""
    return Path(settings.DATA_DIR / "embeddings")


def word_files() -> list[str]:
    """List the names of the files, sorted."""
    return [path.name for path in _inside(embeddings_home()) if WORD_FILE_NAME.fullmatch(path.name) and path.is_file()]


def path_of(name: str) -> Path | None:
    """Return the file with this name, or None."""
    return embeddings_home() / name if name in word_files() else None


def factory_params(kind: TrainableKind, path: Path) -> dict[str, str]:
    """Return the parameters of a trained model's factory."""
    return {"path": str(path)} | ({"embeddings": str(embeddings_home())} if kind.stacked else {})
