"""Trained models on disk: a zip file that is read without running any code from it.

`card.json` describes the model, first of all its `format`. `lexicon.json` contains what was learned from notes without
labels. A third member contains the weights, in a format that holds only numbers, never a pickle.
"""

import hashlib
import io
import json
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final, TypeVar

from annotations.formats.files.zips import TooManyEntries, open_zip
from annotations.text.wording import gettext as _
from models_runtime.backends.base import BackendError

C = TypeVar("C", bound="FileCard")
CARD: Final = "card.json"
LEXICON: Final = "lexicon.json"
WEIGHTS: Final = "weights.safetensors"
BIGGEST: Final = 1 << 30
BIGGEST_CARD: Final = 1 << 20
# The field of any card that tells how many of its notes had chosen the iterations of a refitted model.
REFIT: Final = "refit"
# Upper limit of the counts of notes and iterations.
MOST: Final = 10**9


def pack(path: Path, members: Mapping[str, bytes]) -> str:
    """Write a model and return the sha256 of its file. The same members give the same file."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content, zipfile.ZIP_DEFLATED)
    return digest(path)


def save(path: Path, card: Any, weights: bytes, lexicon: Mapping[str, Sequence[str]] | None = None) -> str:
    """Write a model with safetensors weights and return the sha256 of its file. `card`: a dataclass."""
    return pack(path, {CARD: as_json(asdict(card)), LEXICON: as_json(lexicon or {}), WEIGHTS: weights})


def mark_refit(path: Path, notes: int) -> str:
    """Write into the model's card that `notes` of its notes had chosen its iterations; returns the new sha256."""
    with zipfile.ZipFile(path) as archive:
        members = {member.filename: archive.read(member) for member in archive.infolist()}
    members[CARD] = as_json(json.loads(members[CARD]) | {REFIT: notes})
    return pack(path, members)


def as_json(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, sort_keys=True).encode()


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def unpack(path: Path, format: str, *, or_format: str = "") -> tuple[dict[str, Any], dict[str, tuple[str, ...]], bytes]:
    """The card, the lexicon and the safetensors weights. Raises BackendError (permanent).

    `or_format`: another format that the file may have.
    """
    return unpack_stage(path, format, WEIGHTS, or_format=or_format)[:3]


def unpack_stage(
    path: Path, format: str, weights: str, *, earlier: str = "", inside: bytes | None = None, or_format: str = ""
) -> tuple[dict[str, Any], dict[str, tuple[str, ...]], bytes, bytes]:
    """The card, the lexicon, and the content of the members `weights` and `earlier`, the model of an earlier stage.

    `earlier` is empty without one.

    `inside`: such an earlier model, which is read instead of the file at `path` that contains it.
    """
    members = (CARD, LEXICON, weights)
    try:
        with path.open("rb") if inside is None else io.BytesIO(inside) as file, open_zip(file) as archive:
            sizes = {member.filename: member.file_size for member in archive.infolist()}
            if set(sizes) - {earlier} != set(members):
                raise refused(path, format, _("it must contain exactly {files}", ", ".join(members)))
            if sum(sizes.values()) > BIGGEST:
                raise refused(path, format, _("it is larger than 1 GiB when unpacked"))
            card, lexicon = (json.loads(archive.read(name)) for name in members[:2])
            content = archive.read(weights)
            stage = archive.read(earlier) if earlier in sizes else b""
    except FileNotFoundError:
        raise BackendError("The model “{name}” doesn't exist.", path.name) from None
    except TooManyEntries:
        raise refused(path, format, _("it must contain exactly {files}", ", ".join(members))) from None
    except (OSError, zipfile.BadZipFile, ValueError, RecursionError) as error:
        raise refused(path, format, _("it can't be read ({error})", type(error).__name__)) from None
    if not isinstance(card, dict) or card.get("format") not in (format, or_format or format):
        raise refused(path, format, _("its card has another format"))
    card.pop(REFIT, None)  # No format's own field: see card_of.
    return card, _lexicon(path, format, lexicon), content, stage


def header(content: bytes) -> dict[str, str]:
    """The texts in the header of safetensors weights. Raises ValueError or LookupError if there are none."""
    size = int.from_bytes(content[:8], "little")
    found: dict[str, str] = json.loads(content[8 : 8 + size])["__metadata__"]
    return found


def format_of(path: Path) -> str:
    """The format in the file's card; empty if the card has none. Raises BackendError (permanent) without a card."""
    return str(card_of(path).get("format", ""))[:80]


def card_of(path: Path) -> dict[str, Any]:
    """The file's card as it is; empty if it is not an object. Raises BackendError (permanent) without a card."""
    why = _("it can't be read")
    try:
        with path.open("rb") as file, open_zip(file) as archive:
            why = _("it contains no {file}", CARD)
            size = archive.getinfo(CARD).file_size
            why = _("its card can't be read")
            card = json.loads(archive.read(CARD)) if size <= BIGGEST_CARD else None
    except (OSError, zipfile.BadZipFile, TooManyEntries, ValueError, RecursionError, KeyError):
        raise BackendError("This file is not a deidreview model: {why}.", why) from None
    return card if isinstance(card, dict) else {}


@dataclass(frozen=True, slots=True)
class FileCard:
    """What the cards of all formats have: a description of the model."""

    label_set: str
    labels: tuple[str, ...]
    algorithm: str
    notes: int
    iterations: int
    format: str


def card_from(path: Path, kind: Callable[..., C], data: Mapping[str, Any], **converted: Callable[[Any], object]) -> C:
    """The card of the file. `converted`: functions for the values of fields.

    Raises BackendError (permanent) if fields are missing, unknown or of another type.
    """
    converted["labels"] = tuple
    try:
        card = kind(**{**data, **{name: convert(data[name]) for name, convert in converted.items()}})
    except (TypeError, KeyError):
        raise refused(path, data["format"], _("its card has missing or unknown fields")) from None
    texts = [getattr(card, field.name) for field in fields(card) if field.type is str]
    check_words(path, card.format, texts, card.labels)
    return card


def refused(path: Path, format: str, why: str) -> BackendError:
    """The error for an invalid file. `why` is a clause without a full stop."""
    return BackendError("{name} is not a {format} model: {why}.", path.name, format, why)


def check_words(path: Path, format: str, words: Sequence[object], labels: Sequence[object]) -> None:
    """Raise BackendError unless all are strings, and the labels are sorted and distinct."""
    if not all(isinstance(word, str) for word in (*words, *labels)) or list(labels) != sorted(set(map(str, labels))):
        raise refused(path, format, _("names in its card must be texts, labels sorted and distinct"))


def _lexicon(path: Path, format: str, data: object) -> dict[str, tuple[str, ...]]:
    if not isinstance(data, dict) or not all(isinstance(fields, list) for fields in data.values()):
        raise refused(path, format, _("its lexicon must map words to lists of fields"))
    return {word: tuple(map(str, fields)) for word, fields in data.items()}


def outline(card: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a card that all formats share. Raises BackendError (permanent) for impossible counts."""
    if not all(type(card[name]) is int and 0 <= card[name] < MOST for name in ("notes", "iterations")):
        raise BackendError("This file can't be used: the counts in its card must be whole numbers from 0.")
    shortened = {name: card[name][:40] for name in ("label_set", "algorithm")}
    without_rules = {"rules": False} if card.get("rules_set") == "" else {}
    # A stack of embeddings without features (bilstm_crf.model.Card).
    stacked = {"embeddings": list(card["embeddings"])} if card.get("rules_set", "") is None else {}
    return shortened | {name: card[name] for name in ("labels", "notes", "iterations")} | without_rules | stacked
