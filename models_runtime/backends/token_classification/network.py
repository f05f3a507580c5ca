"""Load transformers from a folder: only safetensors, no code from the folder, no downloads."""

import json
from pathlib import Path
from typing import Any, Final

import torch
from transformers import AutoConfig, AutoModelForMaskedLM, AutoModelForTokenClassification

from models_runtime.backends.base import BackendError
from models_runtime.backends.token_classification.encoding import FILE, Pieces

CONFIG: Final = "config.json"
WEIGHTS: Final = "model.safetensors"
# Largest window (Salierno et al. 2024, section 6), even for models with a longer input.
MOST: Final = 512
# In these architectures, positions begin after the padding index, so windows are shorter than the position table.
SHIFTED: Final = frozenset({"roberta", "xlm-roberta", "camembert", "xlm-roberta-xl", "xmod", "mpnet", "data2vec-text"})


def check_folder(folder: Path) -> None:
    """Raise BackendError (permanent) if files are missing, or the weights are only pickled."""
    if not folder.is_dir():
        raise BackendError(
            f"There is no folder of weights “{folder.name}” on this worker. Add the folder.", permanent=True
        )
    missing = [name for name in (CONFIG, FILE) if not (folder / name).is_file()]
    if not list(folder.glob("*.safetensors")):
        missing.append(WEIGHTS)
    if missing:
        pickles = any(folder.glob("*.bin")) or any(folder.glob("*.pt"))
        hint = " Pickled weights (.bin, .pt) are never opened; convert them to safetensors." if pickles else ""
        raise BackendError(f"The folder “{folder.name}” lacks {', '.join(missing)}.{hint}", permanent=True)


def read_config(folder: Path) -> Any:
    """The configuration. Raises BackendError (permanent) if it needs code from the folder, or can't be read."""
    try:
        said = json.loads((folder / CONFIG).read_text())
        if "auto_map" in said:
            raise BackendError(
                f"The folder “{folder.name}” needs code of its own, which is never run. Choose other weights.",
                permanent=True,
            )
        return AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise BackendError(
            f"The file {CONFIG} in “{folder.name}” can't be used ({type(error).__name__}).", permanent=True
        ) from None


def room(config: Any) -> int:
    """The number of pieces in a window, special pieces included."""
    positions = getattr(config, "max_position_embeddings", None) or MOST
    if config.model_type in SHIFTED:
        positions -= (getattr(config, "pad_token_id", None) or 0) + 1
    if positions < 8:
        raise BackendError(
            f"The model's input of {positions} pieces is too short. Choose other weights.", permanent=True
        )
    return min(MOST, int(positions))


def read_network(folder: Path, **changes: Any) -> Any:
    """The network with weights in single precision. `changes`: changes to its configuration, such as labels."""
    return _read(AutoModelForTokenClassification, folder, **changes)


def read_masked_lm(folder: Path) -> Any:
    """The network with a head for masked words."""
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
    except Exception as error:  # the libraries raise errors of many types
        raise BackendError(
            f"The weights in “{folder.name}” can't be read ({type(error).__name__}).", permanent=True
        ) from None
    return network.eval()


def read_pieces(folder: Path) -> Pieces:
    try:
        return Pieces((folder / FILE).read_text())
    except (OSError, ValueError) as error:
        raise unreadable_tokenizer(folder, error) from None


def unreadable_tokenizer(folder: Path, error: Exception) -> BackendError:
    return BackendError(f"The file {FILE} in “{folder.name}” can't be read ({type(error).__name__}).", permanent=True)


def padding(config: Any) -> int:
    """The id of the padding piece. Some models derive positions from it."""
    return int(getattr(config, "pad_token_id", None) or 0)
