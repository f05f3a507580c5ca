"""UIMA type systems: which layers and features there are, read from and written as XML.

Source: https://uima.apache.org/d/uimaj-current/references.html, "Type System Descriptors".
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from io import BytesIO
from typing import Final

from annotations.formats.uima import LABEL, METADATA, NAMED_ENTITY, SENTENCE, Layer
from annotations.formats.xml_reading import parse
from annotations.formats.xml_writing import as_text

ANNOTATION: Final = "uima.tcas.Annotation"
STRING: Final = "uima.cas.String"
BOOLEAN: Final = "uima.cas.Boolean"

_NAMESPACE: Final = "http://uima.apache.org/resourceSpecifier"
_VALUES: Final = frozenset(
    {STRING, BOOLEAN} | {f"uima.cas.{name}" for name in ("Byte", "Short", "Integer", "Long", "Float", "Double")}
)
_BUILT_IN: Final = frozenset({"begin", "end", "sofa"})
_WRITTEN: Final[dict[str, tuple[str, dict[str, str]]]] = {
    METADATA: ("uima.tcas.DocumentAnnotation", {"documentTitle": STRING, "documentId": STRING}),
    SENTENCE: (ANNOTATION, {"id": STRING}),
    NAMED_ENTITY: (ANNOTATION, {LABEL: STRING, "identifier": STRING}),
}


@dataclass(slots=True)
class TypeSystem:
    """The supertype of each type, and its own features with their ranges."""

    supertypes: dict[str, str] = field(default_factory=dict)
    features: dict[str, dict[str, str]] = field(default_factory=dict)

    def features_of(self, layer: str) -> dict[str, bool]:
        """The features of a layer with those of its supertypes, and whether each holds a value: text, say, no list."""
        found: dict[str, bool] = {}
        seen: set[str] = set()
        while layer and layer not in seen:
            seen.add(layer)
            for name, kind in self.features.get(layer, {}).items():
                found.setdefault(name, self._is_value(kind))
            layer = self.supertypes.get(layer, "")
        return {name: is_value for name, is_value in found.items() if name not in _BUILT_IN}

    def _is_value(self, kind: str) -> bool:
        """Whether a range is a value. Texts with a list of allowed values are types below that of texts."""
        return kind in _VALUES or self.supertypes.get(kind) == STRING


def written_types(attributes: Mapping[str, bool], layer: Layer = Layer()) -> TypeSystem:  # noqa: B008 - it is frozen
    """The types that are written. `attributes` are features of the layer, and whether each is a check box."""
    written = _WRITTEN if layer.type in _WRITTEN else _WRITTEN | {layer.type: (ANNOTATION, {layer.label: STRING})}
    types = TypeSystem({name: above for name, (above, _) in written.items()}, {})
    types.features = {name: dict(features) for name, (_, features) in written.items()}
    types.features[layer.type] |= {name: BOOLEAN if is_box else STRING for name, is_box in attributes.items()}
    return types


def type_system_xml(types: TypeSystem) -> bytes:
    """The type system as XML."""
    rows = []
    for name, above in types.supertypes.items():
        features = "".join(
            f"<featureDescription><name>{as_text(feature)}</name><description/>"
            f"<rangeTypeName>{kind}</rangeTypeName></featureDescription>\n"
            for feature, kind in types.features[name].items()
        )
        rows.append(
            f"<typeDescription>\n<name>{name}</name><description/><supertypeName>{above}</supertypeName>\n"
            f"<features>\n{features}</features>\n</typeDescription>\n"
        )
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<typeSystemDescription xmlns="{_NAMESPACE}">\n<types>\n{"".join(rows)}</types>\n</typeSystemDescription>\n'
    ).encode()


def read_type_system(data: bytes, file: str) -> TypeSystem:
    """The types of a type system. Raises NoteError if it is not well-formed."""
    handler = _TypeHandler()
    for _ in parse(BytesIO(data), file, handler):
        pass
    return handler.types


class _TypeHandler:
    """Collects the types and features in the order of the file."""

    def __init__(self) -> None:
        self.line = 0
        self.types = TypeSystem()
        self._text: list[str] = []
        self._type: dict[str, str] = {}
        self._feature: dict[str, str] | None = None
        self._features: dict[str, str] = {}

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        self._text.clear()
        if name.endswith("}typeDescription"):
            self._type, self._features = {}, {}
        elif name.endswith("}featureDescription"):
            self._feature = {}

    def end(self, name: str) -> None:
        word = name.rpartition("}")[2]
        if word == "featureDescription" and self._feature is not None:
            self._features[self._feature.get("name", "")] = self._feature.get("rangeTypeName", "")
            self._feature = None
        elif word == "typeDescription":
            known = self._type.get("name", "")
            self.types.supertypes[known] = self._type.get("supertypeName", "")
            self.types.features[known] = self._features
        elif word in ("name", "supertypeName", "rangeTypeName"):
            (self._type if self._feature is None else self._feature).setdefault(word, "".join(self._text).strip())

    def data(self, text: str) -> None:
        self._text.append(text)

    def pi(self, target: str, data: str) -> None:
        pass
