"""What the formats of INCEpTION and other UIMA tools share: layers, their features, and spans as annotations.

A layer is a type of annotations, which have features. A span is a named entity of DKPro Core, the layer for entities
that INCEpTION has built in, with the label in the feature `value`. An attribute of a span is a further feature of its
name: a check box, or text. UIMA counts UTF-16 code units, as Java does. Sources:
https://github.com/inception-project/inception (user guide in `inception-io-webanno-tsv` and `inception-io-xmi`) and
https://uima.apache.org/d/uimaj-current/references.html.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Final, NamedTuple

from annotations.formats.base import LabelFinder
from annotations.formats.notes import Loss, OutNote, ParsedNote
from annotations.formats.span_rules import SpanTaker, attribute_value, given_rows
from annotations.formats.xml_files import XmlHandler, as_text, parsed
from annotations.text.characters import Utf16
from annotations.text.segments import sentences
from annotations.text.spans import Bounds, Span
from annotations.text.wording import gettext as _
from annotations.text.wording import gettext_noop

DKPRO: Final = "de.tudarmstadt.ukp.dkpro.core.api"
NAMED_ENTITY: Final = f"{DKPRO}.ner.type.NamedEntity"
TOKEN: Final = f"{DKPRO}.segmentation.type.Token"
SENTENCE: Final = f"{DKPRO}.segmentation.type.Sentence"
METADATA: Final = f"{DKPRO}.metadata.type.DocumentMetaData"
LABEL: Final = "value"

NO_CHARACTERS: Final = gettext_noop("Spans without characters are not imported.")

_STRUCTURE: Final = frozenset({TOKEN, SENTENCE, METADATA, "uima.tcas.DocumentAnnotation"})
_ENTITIES: Final = f"{DKPRO}.ner.type."
_NOT_SPANS: Final = (f"{DKPRO}.", "uima.", "org.dkpro.core.", "de.tudarmstadt.ukp.inception.", "org.apache.uima.")
_LABEL_FEATURES: Final = ("value", "label", "entity", "type", "category", "kind", "class", "tag")
_RESERVED: Final = frozenset({LABEL, "begin", "end", "sofa"})
_FEATURE: Final = re.compile(r"(?!ROLE_)[A-Za-z][A-Za-z0-9_]*", re.ASCII)
_NOT_SET: Final = "false"
_LAYER: Final = re.compile(r"(?P<type>[A-Za-z]\w*(?:\.[A-Za-z]\w*)+):(?P<feature>[A-Za-z]\w*)", re.ASCII)


@dataclass(frozen=True, slots=True)
class Layer:
    """The type of the annotations that are spans, and the feature that holds their label.

    `tags` has the tags of the feature's tag set that differ from the codes of labels, by code.
    """

    type: str = NAMED_ENTITY
    label: str = LABEL
    tags: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def named(cls, spec: str) -> "Layer":
        """The layer of `webanno.custom.PHI:kind`; named entities for an empty string. Raises ValueError."""
        if not spec:
            return cls()
        match = _LAYER.fullmatch(spec)
        if match is None or match["feature"] in ("begin", "end", "sofa") or not is_span_layer(match["type"]):
            raise ValueError(spec)
        return cls(match["type"], match["feature"])

    def reserved(self) -> set[str]:
        """The names, in lower case, that no other feature can have: a reader would take it for the label's."""
        name = self.label.lower()
        return {*_RESERVED, name, *takewhile(lambda word: word != name, _LABEL_FEATURES)}


def is_structure(layer: str) -> bool:
    """Whether annotations of the layer only divide the text or describe the note, so that nothing is lost with them."""
    return layer in _STRUCTURE or layer.startswith("uima.cas.")


def is_span_layer(layer: str) -> bool:
    """Whether annotations of the layer are spans: named entities, and layers of a project's own."""
    return layer.startswith(_ENTITIES) or not layer.startswith(_NOT_SPANS)


def layer_not_kept(layer: str) -> str:
    return _("Annotations of the layer “{layer}” are not imported.", layer)


def feature_not_kept(layer: str, feature: str) -> str:
    return _(
        "The feature “{feature}” of the layer “{layer}” is not imported: it is a list or refers to other annotations.",
        *(feature, layer),
    )


def relations_not_kept(layer: str) -> str:
    return _("Relations and chains (layer “{layer}”) are not imported.", layer)


def label_feature(layer: str, features: Collection[str]) -> str | None:
    """The feature that holds the label: it is called `value`, `label` or the like, or is the only one; or None."""
    named = {feature.lower(): feature for feature in features}
    feature = next((named[word] for word in _LABEL_FEATURES if word in named), None)
    if layer.startswith(_ENTITIES):
        feature = LABEL
    elif feature is None and len(features) == 1:
        (feature,) = features
    return feature


class LayerTaker(SpanTaker):
    """Takes annotations of layers as spans. Offsets count UTF-16 code units.

    The note gets the layers that its spans come from, as `TYPE:FEATURE`, with their tags by code.
    """

    def __init__(self, text: str, file: str, find_label: LabelFinder) -> None:
        super().__init__(text, file, find_label, utf16=True)
        self._features: dict[str, str | None] = {}
        self._layers: dict[str, dict[str, str]] = {}

    def take_annotation(
        self, layer: str, features: Collection[str], values: Mapping[str, str], start: object, end: object, *,
        line: int | None,
    ) -> None:  # fmt: skip
        """Take an annotation with the `values` of its layer's `features`; check boxes are `true` or `false`.

        The label is in the feature of `label_feature`; without that value, it is the short name of the layer.
        """
        if layer not in self._features:
            self._features[layer] = label_feature(layer, features)
        feature = self._features[layer]
        label = values.get(feature, "") if feature else ""
        tags = self._layers.setdefault(f"{layer}:{feature}", {}) if feature else {}
        if attribute_value(label) is True or label == _NOT_SET:  # a check box is not a label
            feature, label = None, ""
        elif label and (code := self._find_label(label)):
            tags.setdefault(code, label)
        held = {
            name: attribute_value(value)
            for name, value in values.items()
            if name != feature and value and value != _NOT_SET
        }
        self.take(label or layer.rpartition(".")[2], start, end, line=line, attributes=held)

    def note(self, name: str, *, patient_id: str = "") -> ParsedNote:
        return replace(super().note(name, patient_id=patient_id), layers=self._layers)


class Entity(NamedTuple):
    """A span to write, with its bounds, its code or tag, and its attributes as words by feature."""

    start: int
    end: int
    code: str
    features: Mapping[str, str]
    span: Span


def entities(note: OutNote, labels: Mapping[str, str], layer: Layer) -> tuple[list[Entity], list[Loss]]:
    """The spans of a note to write as annotations of a layer, in text order, and what is lost.

    Raises SpanError for a span outside the text.
    """
    rows, losses = given_rows(note, labels, _FEATURE, layer.reserved())
    found = []
    for span, code, words in rows:
        for name in [name for name, word in words.items() if word == _NOT_SET]:
            del words[name]
            losses.append(
                Loss(note.name, span, _("The attribute “{name}” is not exported: “false” means not set.", name))
            )
        found.append(Entity(span.start, span.end, layer.tags.get(code, code), words, span))
    return found, losses


def feature_types(found: Iterable[Entity]) -> dict[str, bool]:
    """The features of the entities by name, and whether each is a check box in all of them."""
    boxes: dict[str, bool] = {}
    for entity in found:
        for name, word in entity.features.items():
            boxes[name] = boxes.get(name, True) and attribute_value(word) is True
    return dict(sorted(boxes.items()))


def whole_sentences(text: str, found: Iterable[Entity]) -> list[Bounds]:
    """The sentences of a text, with those joined that a span runs over: INCEpTION wants spans inside of sentences."""
    covered: list[Bounds] = []
    for start, end in sorted(entity[:2] for entity in found):
        if covered and start < covered[-1][1]:
            covered[-1] = (covered[-1][0], max(covered[-1][1], end))
        else:
            covered.append((start, end))
    whole: list[Bounds] = []
    at = 0
    for start, end in sentences(text):
        while at < len(covered) and covered[at][1] <= start:
            at += 1
        if whole and at < len(covered) and covered[at][0] < start:
            whole[-1] = (whole[-1][0], end)
        else:
            whole.append((start, end))
    return whole


def offsets_of(text: str) -> Callable[[int], int]:
    """The conversion of offsets in a text from code points to UTF-16 code units."""
    offsets = Utf16(text)
    return int if offsets.length == len(text) else offsets.units


def written_annotations(
    note: OutNote, found: Sequence[Entity], layer: Layer
) -> list[tuple[str, int, int, dict[str, str]]]:
    """The annotations of a note in the order of writing: its metadata, its sentences, and the entities of the layer.

    Each has its type, start and end in UTF-16 code units, and features.
    """
    units = offsets_of(note.text)
    given = [(METADATA, 0, len(note.text), {"documentTitle": note.name, "documentId": note.name})]
    given += [(SENTENCE, start, end, {}) for start, end in whole_sentences(note.text, found)]
    given += [(layer.type, each.start, each.end, {layer.label: each.code, **each.features}) for each in found]
    return [(kind, units(start), units(end), features) for kind, start, end, features in given]


# UIMA type systems: which layers and features there are, read from and written as XML.
#
# Source: https://uima.apache.org/d/uimaj-current/references.html, "Type System Descriptors".


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


def written_types(attributes: Mapping[str, bool], layer: Layer = Layer()) -> TypeSystem:
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
    return parsed(data, file, _TypeHandler()).types


class _TypeHandler(XmlHandler):
    """Collects the types and features in the order of the file."""

    def __init__(self) -> None:
        super().__init__()
        self.types = TypeSystem()
        self._type: dict[str, str] = {}
        self._feature: dict[str, str] | None = None
        self._features: dict[str, str] = {}

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        self.text.clear()
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
            (self._type if self._feature is None else self._feature).setdefault(word, "".join(self.text).strip())

    def data(self, text: str) -> None:
        self.text.append(text)
