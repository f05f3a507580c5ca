"""Label sets: their definition, their JSON form, and the ASCII codes that file formats need."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from annotations.domain.names import bad_character

RESERVED_HOTKEYS: Final = frozenset("npgfmux?/*")
"""Keys that the workbench and the review screen keep for themselves."""

CODE: Final = re.compile(r"(?=.*[A-Za-z0-9])[A-Za-z0-9_-]+")
"""What a code may be: brat's grammar for the name of a type (where a row of hyphens alone is a separator)."""

_KEY = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")
_FOREIGN: Final = str.maketrans(
    {"ß": "ss", "ẞ": "SS", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ø": "o", "Ø": "O", "đ": "d", "Đ": "D", "ð": "d"}
    | {"Ð": "D", "ħ": "h", "Ħ": "H", "ı": "i", "ł": "l", "Ł": "L", "ŋ": "n", "Ŋ": "N", "þ": "th", "Þ": "Th"}
)


class LabelSetError(ValueError):
    """A label set that can't be taken; the message says what is wrong, where, and what is allowed."""


@dataclass(frozen=True, slots=True)
class LabelDef:
    """A label: ASCII code, name, one key (or none), what it is for, and what stands for it in redacted text."""

    code: str
    name: str
    hotkey: str = ""
    description: str = ""
    placeholder: str = ""


@dataclass(frozen=True, slots=True)
class CategoryDef:
    """A group of labels, which share a colour."""

    code: str
    name: str
    labels: tuple[LabelDef, ...]


@dataclass(frozen=True, slots=True)
class LabelSetDef:
    """A label set: its key (a slug), where it comes from, the languages it was made for (none: any), and its labels."""

    key: str
    name: str
    description: str
    source: str
    languages: tuple[str, ...]
    categories: tuple[CategoryDef, ...]

    def labels(self) -> Iterator[LabelDef]:
        """All labels in order: this order breaks ties wherever one label must win."""
        for category in self.categories:
            yield from category.labels

    def accepted(self) -> dict[str, str]:
        """Every name and code by which a file may call a label, to its code; codes first, in label order."""
        codes = {label.code: label.code for label in self.labels()}
        return codes | {label.name: label.code for label in self.labels()}


def ascii_code(name: str) -> str:
    """A code for a name in any script: `ETÀ` gives `ETA`, `LUOGO/INDIRIZZO` gives `LUOGO_INDIRIZZO`.

    A name without a single ASCII letter or digit is spelt by its code points (`U59D3_U540D`). Two names may give one
    code. Raises ValueError for a name without any letter or digit.
    """
    plain = unicodedata.normalize("NFKD", name.translate(_FOREIGN))
    plain = "".join(ch for ch in plain if not unicodedata.combining(ch))
    code = re.sub(r"[^A-Za-z0-9_-]+", "_", plain).strip("_")
    if re.search(r"[A-Za-z0-9]", code):
        return code
    code = "_".join(f"U{ord(ch):04X}" for ch in name if ch.isalnum())
    if not code:
        raise ValueError(f"no code can be made of {name!r}: it has no letter and no digit")
    return code


def parse_label_set(data: Mapping[str, Any]) -> LabelSetDef:
    """A label set from its JSON form, an object with `key name description source languages categories`.

    Each category is an object with `code name labels`, each label one with `code name hotkey description placeholder`.

    `key`, `categories` and each `name` must be there; a code is made from the name where it is missing, and a
    placeholder is `[name]`. Raises LabelSetError.
    """
    where = "the label set"
    _check_keys(data, where, ("key", "name", "description", "source", "languages", "categories"))
    key = _text(data, "key", where)
    if not _KEY.fullmatch(key):
        raise LabelSetError(f"{where}: the key {key!r} must be made of a-z, 0-9 and single hyphens")
    where = f"label set {key!r}"
    languages = _list(data, "languages", where)
    for language in languages:
        if not isinstance(language, str) or not _LANGUAGE.fullmatch(language):
            raise LabelSetError(f"{where}: {language!r} is no language code; write it as 'es' or 'pt-BR'")
    categories = tuple(
        _category(item, f"{where}, category {number}")
        for number, item in enumerate(_list(data, "categories", where), 1)
    )
    label_set = LabelSetDef(
        key=key,
        name=_text(data, "name", where),
        description=_text(data, "description", where, ""),
        source=_text(data, "source", where, ""),
        languages=tuple(languages),
        categories=categories,
    )
    _check_whole(label_set, where)
    return label_set


def _category(data: object, where: str) -> CategoryDef:
    data = _check_keys(data, where, ("code", "name", "labels"))
    name = _text(data, "name", where)
    code = _code(data, name, where)
    where = f"{where} ({name})"
    labels = tuple(_label(item, f"{where}, label {at}") for at, item in enumerate(_list(data, "labels", where), 1))
    if not labels:
        raise LabelSetError(f"{where}: a category needs at least one label")
    return CategoryDef(code, name, labels)


def _label(data: object, where: str) -> LabelDef:
    data = _check_keys(data, where, ("code", "name", "hotkey", "description", "placeholder"))
    name = _text(data, "name", where)
    where = f"{where} ({name})"
    hotkey = _text(data, "hotkey", where, "")
    if hotkey and (len(hotkey) != 1 or not hotkey.isprintable() or hotkey.isspace()):
        raise LabelSetError(f"{where}: the hotkey {hotkey!r} must be one printable character")
    if hotkey.casefold() in RESERVED_HOTKEYS:
        taken = " ".join(sorted(RESERVED_HOTKEYS))
        raise LabelSetError(f"{where}: the hotkey {hotkey!r} is kept for the program, as all of these are: {taken}")
    placeholder = _text(data, "placeholder", where, "") or f"[{name}]"
    return LabelDef(_code(data, name, where), name, hotkey, _text(data, "description", where, ""), placeholder)


def _code(data: Mapping[str, Any], name: str, where: str) -> str:
    code = _text(data, "code", where, "")
    if not code:
        try:
            return ascii_code(name)
        except ValueError as error:
            raise LabelSetError(f"{where}: {error}") from None
    if not CODE.fullmatch(code):
        raise LabelSetError(f"{where}: the code {code!r} must be made of A-Z, a-z, 0-9, '_' and '-'")
    return code


def _check_whole(label_set: LabelSetDef, where: str) -> None:
    """Labels must be told apart by name, code (where case doesn't count) and key; categories by name and code."""
    if not label_set.categories:
        raise LabelSetError(f"{where}: 'categories' needs at least one category")
    _check_apart(label_set.categories, f"{where}: the categories")
    labels = list(label_set.labels())
    _check_apart(labels, f"{where}: the labels")
    keys: dict[str, LabelDef] = {}
    for label in labels:
        if label.hotkey and (other := keys.setdefault(label.hotkey, label)) is not label:
            raise LabelSetError(
                f"{where}: the labels {other.name!r} and {label.name!r} share the hotkey {label.hotkey!r}"
            )


def _check_apart(items: Iterable[LabelDef | CategoryDef], where: str) -> None:
    called: dict[str, LabelDef | CategoryDef] = {}
    for item in items:
        for word in (item.code, item.name):
            if (other := called.setdefault(word.casefold(), item)) is not item:
                raise LabelSetError(f"{where} {other.name!r} and {item.name!r} share the name or code {word!r}")


def _check_keys(data: object, where: str, allowed: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(data, Mapping):
        raise LabelSetError(f"{where}: must be an object with {', '.join(allowed)}")
    for key in data:
        if key not in allowed:
            raise LabelSetError(f"{where}: unknown key {key!r}; known are {', '.join(allowed)}")
    return data


def _text(data: Mapping[str, Any], key: str, where: str, default: str | None = None) -> str:
    value = data.get(key, default)
    if value is None:
        raise LabelSetError(f"{where}: {key!r} is missing")
    if not isinstance(value, str):
        raise LabelSetError(f"{where}: {key!r} must be text, not {type(value).__name__}")
    value = value.strip()
    if default is None and not value:
        raise LabelSetError(f"{where}: {key!r} is empty")
    if key != "description" and (bad := bad_character(value)):
        raise LabelSetError(
            f"{where}: {key!r} holds {bad}, a control character or one that turns the direction of text"
        )
    return value


def _list(data: Mapping[str, Any], key: str, where: str) -> list[Any]:
    value = data.get(key, [])
    if not isinstance(value, list | tuple):
        raise LabelSetError(f"{where}: {key!r} must be a list, not {type(value).__name__}")
    return list(value)
