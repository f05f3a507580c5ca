"""Transformers from a folder: safetensors only, no code but the library's own, nothing fetched."""

import json
from pathlib import Path
from typing import Any, Final

import torch
from transformers import AutoConfig, AutoModelForMaskedLM, AutoModelForTokenClassification

from models_runtime.backends.base import BackendError
from models_runtime.backends.token_classification.encoding import FILE, Pieces

CONFIG: Final = "config.json"
WEIGHTS: Final = "model.safetensors"
# What a window holds at most (003, section 6), whatever longer texts a model could read.
MOST: Final = 512
# These count positions from behind the padding's number, so that a window is shorter than the table of positions.
SHIFTED: Final = frozenset({"roberta", "xlm-roberta", "camembert", "xlm-roberta-xl", "xmod", "mpnet", "data2vec-text"})


def check_folder(folder: Path) -> None:
    """Raises BackendError (permanent) that names what is missing, and what is there that is never opened."""
    if not folder.is_dir():
        raise BackendError(f"there is no folder of weights {folder.name!r}: put it there", permanent=True)
    missing = [name for name in (CONFIG, FILE) if not (folder / name).is_file()]
    if not list(folder.glob("*.safetensors")):
        missing.append(WEIGHTS)
    if missing:
        pickles = any(folder.glob("*.bin")) or any(folder.glob("*.pt"))
        word = "; pickled weights (.bin, .pt) are never opened: convert them to safetensors" if pickles else ""
        raise BackendError(f"the folder {folder.name} lacks {', '.join(missing)}{word}", permanent=True)


def read_config(folder: Path) -> Any:
    """The configuration. Raises BackendError (permanent) where it asks for code of its own, or is none."""
    try:
        said = json.loads((folder / CONFIG).read_text())
        if "auto_map" in said:
            raise BackendError(f"{folder.name} asks to run code of its own, which is never done", permanent=True)
        return AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise BackendError(
            f"{folder.name}: its {CONFIG} can't be used ({type(error).__name__})", permanent=True
        ) from None


def room(config: Any) -> int:
    """How many pieces a window may hold, the special ones included."""
    positions = getattr(config, "max_position_embeddings", None) or MOST
    if config.model_type in SHIFTED:
        positions -= (getattr(config, "pad_token_id", None) or 0) + 1
    if positions < 8:
        raise BackendError(f"the model reads only {positions} pieces at a time: too few", permanent=True)
    return min(MOST, int(positions))


def read_network(folder: Path, **changes: Any) -> Any:
    """The network, its weights in single precision. `changes` to the configuration: labels for a training, say."""
    return _read(AutoModelForTokenClassification, folder, **changes)


def read_filler(folder: Path) -> Any:
    """The network with the head that fills gaps (masked words) instead of one that labels."""
    return _read(AutoModelForMaskedLM, folder)


def _read(kind: Any, folder: Path, **changes: Any) -> Any:
    try:
        network = kind.from_pretrained(
            folder,
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
            dtype=torch.float32,
            **changes,
        )
    except BackendError:
        raise
    except Exception as error:  # the libraries raise whatever they meet
        raise BackendError(
            f"the weights in {folder.name} can't be read ({type(error).__name__})", permanent=True
        ) from None
    return network.eval()


def read_pieces(folder: Path) -> Pieces:
    try:
        return Pieces((folder / FILE).read_text())
    except (OSError, ValueError) as error:
        raise BackendError(f"{folder.name}: {FILE} can't be read ({type(error).__name__})", permanent=True) from None


def padding(config: Any) -> int:
    """The number of the piece that fills up a batch; some models count positions by it."""
    return int(getattr(config, "pad_token_id", None) or 0)
