"""Find the files of word vectors that users bring, in DATA_DIR/embeddings. No file is opened.

Formats: models_runtime.backends.bilstm_crf.word_files. deidreview downloads nothing itself.
"""

import re
from pathlib import Path

from django.conf import settings

from models_runtime.core.registry import TrainableKind

# No comma, which separates names in the setting.
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,119}")


def home() -> Path:
    """Return the folder in which an operator puts files of word vectors."""
    return Path(settings.DATA_DIR / "embeddings")


def word_files() -> list[str]:
    """List the names of the files, sorted."""
    if not home().is_dir():
        return []
    return sorted(path.name for path in home().iterdir() if NAME.fullmatch(path.name) and path.is_file())


def path_of(name: str) -> Path | None:
    """Return the file with this name, or None."""
    return home() / name if name in word_files() else None


def factory_params(kind: TrainableKind, path: Path) -> dict[str, str]:
    """Return the parameters of a trained model's factory."""
    return {"path": str(path)} | ({"embeddings": str(home())} if kind.stacked else {})
