"""Label sets: their definition, their JSON form, and the ASCII codes that file formats need."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from annotations.text.attributes import AttributeDef, AttributeDefError, definitions_of
from annotations.text.identifiers import IdentifierType
from annotations.text.names import bad_character
from annotations.text.spans import Span
from annotations.text.wording import WordedError
from annotations.text.wording import gettext as _

RESERVED_HOTKEYS: Final = frozenset("aefgjkmnpuvwx?/*")
"""Keys that the screens for annotation, review and adjudication reserve for themselves.

Digits are not among them: in adjudication they choose labels while text is selected, and else annotators' versions.
"""

_RANK_KEYS: Final = frozenset("123")
"""Digits that apply the likeliest labels, unless a label has one of them."""

CODE: Final = re.compile(r"(?=.*[A-Za-z0-9])[A-Za-z0-9_-]+")
"""The form of a code: brat's grammar for type names (in which a name of hyphens alone would be a separator)."""

_KEY = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_LANGUAGE = re.compile(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*")
_FOREIGN: Final = str.maketrans(
    {"ß": "ss", "ẞ": "SS", "æ": "ae", "Æ": "AE", "œ": "oe", "Œ": "OE", "ø": "o", "Ø": "O", "đ": "d", "Đ": "D", "ð": "d"}
    | {"Ð": "D", "ħ": "h", "Ħ": "H", "ı": "i", "ł": "l", "Ł": "L", "ŋ": "n", "Ŋ": "N", "þ": "th", "Þ": "Th"}
)


class LabelSetError(WordedError, ValueError):
    """An invalid label set. The message says where the error is, what is wrong and what is allowed."""


@dataclass(frozen=True, slots=True)
class LabelDef:
    """A label: ASCII code, name, hotkey (may be empty), description, its placeholder in de-identified text.

    `attributes` are those that its spans may have; `identifier` is the IdentifierType of a project's own label.
    """

    code: str
    name: str
    hotkey: str = ""
    description: str = ""
    placeholder: str = ""
    attributes: tuple[AttributeDef, ...] = ()
    identifier: str = ""


@dataclass(frozen=True, slots=True)
class CategoryDef:
    """A group of labels, which share a color."""

    code: str
    name: str
    labels: tuple[LabelDef, ...]


@dataclass(frozen=True, slots=True)
class LabelSetDef:
    """A label set with its key (a slug), its source, the languages it was made for (none: any) and its labels."""

    key: str
    name: str
    description: str
    source: str
    languages: tuple[str, ...]
    categories: tuple[CategoryDef, ...]

    def labels(self) -> Iterator[LabelDef]:
        """All labels in order. The order breaks ties wherever one label must win."""
        for category in self.categories:
            yield from category.labels

    def accepted(self) -> dict[str, str]:
        """A map from every name and code that a file may use for a label to its code; codes first, in label order."""
        codes = {label.code: label.code for label in self.labels()}
        return codes | {label.name: label.code for label in self.labels()}


def ascii_code(name: str) -> str:
    """Make a code from a name in any script: `ETÀ` gives `ETA`, `LUOGO/INDIRIZZO` gives `LUOGO_INDIRIZZO`.

    A name that gives no ASCII letter or digit becomes its code points (`U59D3_U540D`). Two names may give the same
    code. Raises ValueError for a name without any letter or digit.
    """
    plain = unicodedata.normalize("NFKD", name.translate(_FOREIGN))
    plain = "".join(ch for ch in plain if not unicodedata.combining(ch))
    code = re.sub(r"[^A-Za-z0-9_-]+", "_", plain).strip("_")
    if re.search(r"[A-Za-z0-9]", code):
        return code
    code = "_".join(f"U{ord(ch):04X}" for ch in name if ch.isalnum())
    if not code:
        raise ValueError(_("No code can be made from the name “{name}”: it has no letter or digit.", name))
    return code


def free_hotkeys(names: Iterable[str], taken: Iterable[str] = ()) -> list[str]:
    """A key for each name: an initial of its words, else another of its letters, else a digit; "" where none is free.

    Initials go first, in the order of the names. Keys of the program, `taken` ones and 1 to 3 stay free.
    """
    used = {*taken, *RESERVED_HOTKEYS, *_RANK_KEYS}
    words = [
        re.findall(r"[a-z]+", unicodedata.normalize("NFKD", name.translate(_FOREIGN)).casefold()) for name in names
    ]
    keys = [""] * len(words)
    for letters_of in (lambda own: [word[0] for word in own], "".join, lambda own: "4567890"):
        for at, own in enumerate(words):
            if not keys[at]:
                keys[at] = next((letter for letter in letters_of(own) if letter not in used), "")
                used.add(keys[at])
    return keys


def parse_label_set(data: Mapping[str, Any]) -> LabelSetDef:
    """Parse a label set from its JSON form, an object with `key name description source languages categories`.

    Each category is an object with `code name labels`, each label one with `code name hotkey description placeholder
    attributes`; attributes are objects with `name` and, for a choice, `values`.
    `key`, `categories` and every `name` are required. A missing code is made from the name, a missing placeholder is
    `[name]`. Raises LabelSetError.
    """
    where = _("Label set")
    _check_keys(data, where, ("key", "name", "description", "source", "languages", "categories"))
    key = _text(data, "key", where)
    if not _KEY.fullmatch(key):
        raise LabelSetError("{where}: The key “{key}” may contain only a-z, 0-9 and single hyphens.", where, key)
    where = _("Label set “{key}”", key)
    languages = _list(data, "languages", where)
    for language in languages:
        if not isinstance(language, str) or not _LANGUAGE.fullmatch(language):
            raise LabelSetError(
                "{where}: “{language}” is not a language code. Write it like “es” or “pt-BR”.", where, language
            )
    categories = tuple(
        _category(item, _("{where}, category {number}", where, number))
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
    labels = tuple(
        _label(item, _("{where}, label {number}", where, at)) for at, item in enumerate(_list(data, "labels", where), 1)
    )
    if not labels:
        raise LabelSetError("{where}: A category needs at least one label.", where)
    return CategoryDef(code, name, labels)


def _label(data: object, where: str) -> LabelDef:
    data = _check_keys(data, where, ("code", "name", "hotkey", "description", "placeholder", "attributes"))
    name = _text(data, "name", where)
    where = f"{where} ({name})"
    hotkey = _text(data, "hotkey", where, "")
    if hotkey and (len(hotkey) != 1 or not hotkey.isprintable() or hotkey.isspace()):
        raise LabelSetError("{where}: The hotkey “{hotkey}” must be one printable character.", where, hotkey)
    if hotkey.casefold() in RESERVED_HOTKEYS:
        taken = " ".join(sorted(RESERVED_HOTKEYS))
        raise LabelSetError("{where}: The hotkey “{key}” is reserved. Reserved hotkeys: {taken}", where, hotkey, taken)
    placeholder = _text(data, "placeholder", where, "") or f"[{name}]"
    try:
        attributes = definitions_of(data.get("attributes", []))
    except AttributeDefError as error:
        raise LabelSetError("{where}: {error}", where, error) from None
    description = _text(data, "description", where, "")
    return LabelDef(_code(data, name, where), name, hotkey, description, placeholder, attributes)


def _code(data: Mapping[str, Any], name: str, where: str) -> str:
    code = _text(data, "code", where, "")
    if not code:
        try:
            return ascii_code(name)
        except ValueError as error:
            raise LabelSetError("{where}: {error}", where, error) from None
    if not CODE.fullmatch(code):
        raise LabelSetError(
            "{where}: The code “{code}” may contain only A-Z, a-z, 0-9, “_” and “-”, and needs a letter or digit.",
            *(where, code),
        )
    return code


def _check_whole(label_set: LabelSetDef, where: str) -> None:
    """Check that labels have distinct names, codes and hotkeys, and categories distinct names and codes."""
    if not label_set.categories:
        raise LabelSetError("{where}: “categories” needs at least one category.", where)
    _check_apart(label_set.categories, _("{where}: The categories", where))
    labels = list(label_set.labels())
    _check_apart(labels, _("{where}: The labels", where))
    keys: dict[str, LabelDef] = {}
    for label in labels:
        if label.hotkey and (other := keys.setdefault(label.hotkey, label)) is not label:
            raise LabelSetError(
                "{where}: The labels “{name}” and “{other}” have the same hotkey “{hotkey}”.",
                *(where, other.name, label.name, label.hotkey),
            )


def _check_apart(items: Iterable[LabelDef | CategoryDef], where: str) -> None:
    called: dict[str, LabelDef | CategoryDef] = {}
    for item in items:
        for word in (item.code, item.name):
            if (other := called.setdefault(word.casefold(), item)) is not item:
                raise LabelSetError(
                    "{where} “{name}” and “{other}” have the same name or code “{word}”.",
                    *(where, other.name, item.name, word),
                )


def _check_keys(data: object, where: str, allowed: tuple[str, ...]) -> Mapping[str, Any]:
    if not isinstance(data, Mapping):
        raise LabelSetError("{where}: This must be a JSON object with the keys {allowed}.", where, ", ".join(allowed))
    for key in data:
        if key not in allowed:
            raise LabelSetError(
                "{where}: The key “{key}” is unknown. Known keys: {all}.", where, key, ", ".join(allowed)
            )
    return data


def _text(data: Mapping[str, Any], key: str, where: str, default: str | None = None) -> str:
    value = data.get(key, default)
    if value is None:
        raise LabelSetError("{where}: “{key}” is missing.", where, key)
    if not isinstance(value, str):
        raise LabelSetError("{where}: “{key}” must be text, not {type}.", where, key, type(value).__name__)
    value = value.strip()
    if default is None and not value:
        raise LabelSetError("{where}: “{key}” is empty.", where, key)
    if key != "description" and (bad := bad_character(value)):
        raise LabelSetError(
            "{where}: “{key}” contains {bad}, a control character or one that changes the direction of text.",
            *(where, key, bad),
        )
    return value


def _list(data: Mapping[str, Any], key: str, where: str) -> list[Any]:
    value = data.get(key, [])
    if not isinstance(value, list | tuple):
        raise LabelSetError("{where}: “{key}” must be a list, not {type}.", where, key, type(value).__name__)
    return list(value)


def own_label_set(lines: str) -> LabelSetDef:
    """The label set of pasted lines: `Name`, or `Name = type of identifier`. Raises LabelSetError naming the line.

    A type is written as its value or its words (annotations.text.identifiers); without one, the name must be a type.
    """
    types = {word.casefold(): one for one in IdentifierType for word in (one.value, one.words)}
    labels = []
    for number, line in enumerate(lines.splitlines(), 1):
        name, equals, written = (part.strip() for part in line.partition("="))
        if not line.strip():
            continue
        kind = types.get((written if equals else name).casefold())
        if kind is None:
            raise LabelSetError(
                "Line {number}: Say what “{name}” identifies, for example “{name} = {type}”. Types: {types}.",
                *(number, name, IdentifierType.ID, ", ".join(IdentifierType)),
            )
        labels.append(replace(_label({"name": name}, _("Line {number}", number)), identifier=kind.value))
    if not labels:
        raise LabelSetError("Enter at least one label, or choose “No labels yet”.")
    keys = free_hotkeys([label.name for label in labels])
    labels = [replace(label, hotkey=key) for label, key in zip(labels, keys, strict=True)]
    made = LabelSetDef("own", "Own labels", "", "", (), (CategoryDef("Labels", "Labels", tuple(labels)),))
    _check_apart(labels, _("The labels"))
    return made


EMPTY_LABEL_SET: Final = LabelSetDef("empty", "No labels yet", "", "", (), (CategoryDef("Labels", "Labels", ()),))


# Mappings from one label set to another, for scoring annotations with different label sets.


class MappingError(WordedError, ValueError):
    """A label is missing in the mapping. Its spans must not be dropped silently."""


@dataclass(frozen=True, slots=True)
class LabelMapping:
    """The target label of each label; None if the other set has no such label, so that its spans don't count.

    `to_category` is True if the targets are categories of the other set, so that there is no finer level.
    """

    source: str
    target: str
    labels: Mapping[str, str | None]
    to_category: bool = False

    def check(self, used: Iterable[str]) -> None:
        """Raise MappingError unless the mapping contains every label in `used`."""
        missing = sorted(set(used) - set(self.labels))
        if missing:
            raise MappingError(
                "The mapping from {source} to {target} lacks these labels: {missing}. It must contain every "
                "label in use.",
                *(self.source, self.target, ", ".join(missing)),
            )

    def __call__(self, spans: Iterable[Span]) -> list[Span]:
        """The spans with the other set's labels, without spans that have none. Raises MappingError."""
        given = list(spans)
        self.check(span.label for span in given)
        return [replace(span, label=label) for span in given if (label := self.labels[span.label]) is not None]
