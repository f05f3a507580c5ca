"""GATE XML: one `.xml` file per note, with nodes in the text and annotation sets that name them.

Source: https://gate.ac.uk/sale/tao/splitch5.html (section 5.5.2) and GATE's own reader and writer
(https://github.com/GateNLP/gate-core, gate/corpora/DocumentStaxUtils.java). `<TextWithNodes>` is the text with an empty
`<Node id/>` wherever an annotation starts or ends, and `<Annotation Type StartNode EndNode>` names two of them. The id
of a node is its offset in UTF-16 code units, because GATE is Java. Reading ignores the id and uses
the position of the node in the text.

A file has the default annotation set and named ones. Only one set is read: the chosen one; without a choice, the
default set, or the first named set if the default set has only what GATE's own programs make (tokens, sentences).
GATE's set of the markup of the original file is never read. Features are attributes.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from annotations.formats.notes import Loss, NoteError, OutNote, Problem
from annotations.formats.span_rules import ANY_NAME, SpanTaker, attribute_value, given_rows
from annotations.formats.xml_files import XmlHandler, XmlNoteFormat, as_attribute, as_text
from annotations.text.characters import Utf16
from annotations.text.names import printable
from annotations.text.wording import gettext as _

_DEFAULT: Final = ""
_ORIGINAL: Final = "Original markups"
_BOOLEAN: Final = "java.lang.Boolean"
_STRING: Final = "java.lang.String"
_MADE_BY_GATE: Final = frozenset({"Token", "SpaceToken", "Sentence", "Split", "Lookup", "DEFAULT_TOKEN"})
"""Types of the annotations that GATE's programs make, not people."""
SET: Final = "gate:"
"""The prefix of a format that names an annotation set: `gate:NAME` reads the set NAME."""
_ID: Final = re.compile(r"[0-9]{1,12}", re.ASCII)


@dataclass(frozen=True, slots=True)
class _Annotation:
    set: str
    line: int
    type: str
    start: str
    end: str
    features: dict[str, str] = field(default_factory=dict)


@dataclass
class _GateParts(XmlHandler):
    """Handles the parts of a file. `nodes` are offsets in code points by id, `relations` the line of the first one."""

    nodes: dict[str, int] = field(default_factory=dict)
    twice: str = ""
    annotations: list[_Annotation] = field(default_factory=list)
    relations: int = 0
    length: int = 0
    set: str = _DEFAULT
    words: dict[str, list[str]] = field(default_factory=dict)

    def start(self, name: str, attributes: Mapping[str, str]) -> None:
        super().start(name, attributes)
        match self.inside[1:5]:  # No case is deeper, and files may nest 200,000 elements.
            case ["TextWithNodes"]:
                self.texts += 1
            case ["TextWithNodes", "Node"]:
                key = attributes.get("id", "")
                if self.nodes.setdefault(key, self.length) != self.length:
                    self.twice = key
            case ["AnnotationSet"]:
                self.set = attributes.get("Name", _DEFAULT)
            case ["AnnotationSet", "Annotation"]:
                kind, start, end = (attributes.get(key, "") for key in ("Type", "StartNode", "EndNode"))
                self.annotations.append(_Annotation(self.set, self.line, kind, start, end))
            case ["AnnotationSet", "Annotation", "Feature"]:
                self.words = {"Name": [], "Value": []}
            case ["RelationSet", "Relation"]:
                self.relations = self.relations or self.line

    def end(self, name: str) -> None:
        if self.inside[1:5] == ["AnnotationSet", "Annotation", "Feature"]:
            self.annotations[-1].features["".join(self.words["Name"])] = "".join(self.words["Value"])
            self.words = {}
        super().end(name)

    def data(self, text: str) -> None:
        if self.inside[1:2] == ["TextWithNodes"]:
            self.text.append(text)
            self.length += len(text)
        elif self.words and self.inside[-1] in self.words:
            self.words[self.inside[-1]].append(text)

    def sets(self) -> frozenset[str]:
        """The names of the sets with annotations."""
        return frozenset(each.set for each in self.annotations if each.set != _ORIGINAL)

    def chosen(self, wanted: str | None) -> str | None:
        """The name of the annotation set to read; None if the file has none that was wanted or that people made."""
        if wanted is None:
            names = [each.set for each in self.annotations if each.set != _ORIGINAL and each.type not in _MADE_BY_GATE]
            return _DEFAULT if not names or _DEFAULT in names else names[0]
        found = [name for name in sorted(self.sets()) if name == wanted or (wanted and name.startswith(wanted))]
        return found[0] if found else None

    def taken(self, wanted: str | None) -> list[_Annotation]:
        """The annotations to read: without those that GATE's programs make, unless their set was chosen."""
        chosen = self.chosen(wanted)
        found = [each for each in self.annotations if each.set == chosen]
        return found if wanted is not None else [each for each in found if each.type not in _MADE_BY_GATE]


class GateFormat(XmlNoteFormat[_GateParts]):
    """Reads and writes GATE XML. `chosen`: the name of the annotation set to read, or a prefix of the name."""

    name = "gate"
    claim = re.compile(b"<GateDocument")
    element = "TextWithNodes"
    handler = _GateParts

    def __init__(self, chosen: str | None = None) -> None:
        self._chosen = chosen

    def parts(self, file: str, data: bytes) -> _GateParts:
        parts = super().parts(file, data)
        if parts.twice:
            message = _("The id “{id}” of a node is used at two places of the text; ids must differ.", parts.twice[:20])
            raise NoteError([Problem(file, None, "id", message)])
        return parts

    def _take(self, parts: _GateParts, taker: SpanTaker) -> bool:
        chosen = parts.chosen(self._chosen)
        for other in sorted({each.set for each in parts.annotations} - {chosen}):
            which = f"“{printable(other)[:60]}”" if other else _("without a name")
            choice = (
                " " + _("To import it instead, choose the format “{format}”.", set_format(other))
                if other != _ORIGINAL
                else ""
            )
            taker.not_kept(_("Only one annotation set is imported. The set {name} is not.", which) + choice)
        if parts.relations:
            taker.not_kept(_("Relations are not imported."), parts.relations)
        taken = parts.taken(self._chosen)
        if len(taken) < sum(each.set == chosen for each in parts.annotations):
            made = _("Tokens, sentences and other annotations that GATE's programs make are not imported.")
            taker.not_kept(
                _("{all} To import them, choose the format “{format}”.", made, set_format(chosen or _DEFAULT))
            )
        for each in taken:
            _take(each, parts.nodes, taker)
        return chosen is not None

    def _written(self, note: OutNote, labels: Mapping[str, str]) -> tuple[str, list[Loss]]:
        given, losses = given_rows(note, labels, ANY_NAME)
        units = Utf16(note.text)
        rows: list[str] = []
        nodes: set[int] = set()
        for number, (span, code, words) in enumerate(given):
            nodes |= {span.start, span.end}
            features = "".join(_feature(key, word) for key, word in words.items())
            rows.append(
                f'<Annotation Id="{number}" Type="{code}" StartNode="{units.units(span.start)}" '
                f'EndNode="{units.units(span.end)}">\n{features}</Annotation>\n'
            )
        pieces: list[str] = []
        before = 0
        for at in sorted(nodes):
            pieces.append(f'{as_text(note.text[before:at])}<Node id="{units.units(at)}"/>')
            before = at
        pieces.append(as_text(note.text[before:]))
        whole = (
            '<?xml version="1.0" encoding="UTF-8"?>\n<GateDocument version="3">\n<GateDocumentFeatures>\n'
            f"</GateDocumentFeatures>\n<TextWithNodes>{''.join(pieces)}</TextWithNodes>\n"
            f"<AnnotationSet>\n{''.join(rows)}</AnnotationSet>\n</GateDocument>\n"
        )
        return whole, losses


def set_format(name: str) -> str:
    """The format that reads the annotation set of this name. Names of formats have at most 20 characters."""
    return f"{SET}{name}"[:20]


def _feature(name: str, word: str) -> str:
    kind = _BOOLEAN if attribute_value(word) is True else _STRING
    return (
        f"<Feature>\n<Name className={as_attribute(_STRING)}>{as_text(name)}</Name>\n"
        f"<Value className={as_attribute(kind)}>{as_text(word)}</Value>\n</Feature>\n"
    )


def _take(each: _Annotation, nodes: Mapping[str, int], taker: SpanTaker) -> None:
    if taker.skips(each.type):
        return
    missing = [key for key in (each.start, each.end) if key not in nodes]
    if missing:
        node = missing[0] if _ID.fullmatch(missing[0]) else "?"
        message = _(
            "An annotation names the node {id}, which is not in <TextWithNodes>. Export the document again.", node
        )
        taker.refuse_span(each.type, "offsets", message, each.line)
        return
    held = {key: attribute_value(word) for key, word in each.features.items() if word and word.lower() != "false"}
    taker.take(each.type, nodes[each.start], nodes[each.end], line=each.line, attributes=held)
