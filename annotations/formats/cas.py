"""The content of a UIMA CAS, whether in XMI or in JSON: texts (sofas), annotations, and the views that have them.

dkpro-cassis 0.12, with which the tests compare this, doesn't do the work: it compiles the names of features in a file
to Python (`class` is a syntax error), expands entities, refuses or drops layers without a type, keeps offsets that are
not in the text, stops at the first fault without its line, and takes 2 to 6 times as long for 200 notes.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Final

from annotations.formats.base import Files, LabelFinder, NoteFiles
from annotations.formats.notes import NoteError, ParsedNote, Problem, check_text
from annotations.formats.taking import SpanTaker
from annotations.formats.type_system import TypeSystem
from annotations.formats.uima import (
    NO_CHARACTERS,
    UsedLayers,
    feature_not_kept,
    is_span_layer,
    label_and_attributes,
    layer_not_kept,
    relations_not_kept,
)

INITIAL_VIEW: Final = "_InitialView"

_RELATIONS: Final = ({"Governor", "Dependent"}, {"referenceType"}, {"referenceRelation"})


@dataclass(slots=True)
class Sofa:
    """The text of a view; None if the file doesn't hold it. The location of data elsewhere."""

    view: str
    text: str | None
    location: str = ""


@dataclass(slots=True)
class CasAnnotation:
    """An annotation: its layer, offsets as in the file, values of features as words, and names of other features."""

    identity: str
    layer: str
    sofa: str
    start: object
    end: object
    line: int | None
    values: dict[str, str]
    others: tuple[str, ...] = ()


@dataclass(slots=True)
class Cas:
    """What a file holds. `members` are the ids of the annotations in the views, by sofa; `lines` those of layers."""

    file: str
    types: TypeSystem = field(default_factory=TypeSystem)
    sofas: dict[str, Sofa] = field(default_factory=dict)
    found: list[CasAnnotation] = field(default_factory=list)
    members: dict[str, set[str]] = field(default_factory=dict)
    others: dict[str, int | None] = field(default_factory=dict)
    """Layers that are not imported, and the line of the first annotation of each."""

    def add(self, found: CasAnnotation) -> None:
        """Add an annotation. Of layers that are not imported, only the first line is kept."""
        if is_span_layer(found.layer):
            self.found.append(found)
        else:
            self.others.setdefault(found.layer, found.line)

    def note(self, name: str, find_label: LabelFinder) -> ParsedNote:
        """The note. Raises NoteError with all problems."""
        identity, text = self._chosen()
        taker = SpanTaker(text, self.file, find_label, utf16=True)
        layers = UsedLayers(find_label)
        features = {
            name: [one for one, is_value in known.items() if is_value] for name, known in self._layers().items()
        }
        for found, label, attributes in self._spans(identity, taker):
            taker.take(label, found.start, found.end, line=found.line, attributes=attributes)
            layers.add(found.layer, features[found.layer], found.values, label)
        for layer, line in self.others.items():
            taker.not_kept(layer_not_kept(layer), line)
        return replace(taker.note(name), layers=layers.found)

    def used_labels(self) -> Counter[str]:
        """The number of spans by label as written. Raises NoteError."""
        identity, text = self._chosen()
        taker = SpanTaker(text, self.file, LabelFinder({}), utf16=True)
        return Counter(label for _, label, _ in self._spans(identity, taker))

    def _chosen(self) -> tuple[str, str]:
        """The id and the text of the sofa that is the note: that of the initial view, or the first one with a text."""
        with_text = sorted(
            (sofa.view != INITIAL_VIEW, number, identity)
            for number, (identity, sofa) in enumerate(self.sofas.items())
            if sofa.text is not None
        )
        if with_text:
            identity = with_text[0][2]
            return identity, check_text(self.sofas[identity].text or "", self.file)
        if self.sofas and not any(sofa.location for sofa in self.sofas.values()):
            return next(iter(self.sofas)), ""
        message = "The file holds no text. Expected: a Sofa with the text in “sofaString”."
        raise NoteError([Problem(self.file, 1, "no text", message)])

    def _spans(self, sofa: str, taker: SpanTaker) -> Iterator[tuple[CasAnnotation, str, dict[str, str | bool]]]:
        """The annotations of the chosen text that are spans, each with its label as written and its attributes."""
        views = sum(each.text is not None for each in self.sofas.values())
        if views > 1:
            taker.not_kept(f"The file has {views} texts (views). Only the view “{self.sofas[sofa].view}” is imported.")
        members = self.members.get(sofa)
        layers = self._layers()
        for found in self.found:
            known = layers[found.layer]
            if found.sofa != sofa:
                if found.sofa not in self.sofas:
                    message = "The annotation belongs to no text. Expected: “sofa” with the id of a Sofa."
                    taker.refuse("sofa", message, found.line)
            elif members is not None and found.identity not in members:
                taker.not_kept("Annotations that are not members of their view are not imported.", found.line)
            elif any(features <= {*known, *found.others} for features in _RELATIONS):
                taker.not_kept(relations_not_kept(found.layer), found.line)
            elif str(found.start) == str(found.end):
                taker.not_kept(NO_CHARACTERS, found.line)
            else:
                for feature in [*found.others, *(name for name in found.values if not known.get(name, True))]:
                    taker.not_kept(feature_not_kept(found.layer, feature), found.line)
                features = [name for name, is_value in known.items() if is_value]
                values = {name: value for name, value in found.values.items() if known.get(name, True)}
                yield found, *label_and_attributes(found.layer, features, values)

    def _layers(self) -> dict[str, dict[str, bool]]:
        """For each layer its features, and whether each holds a value. Without types, all that its annotations have."""
        layers: dict[str, dict[str, bool]] = {}
        typed: set[str] = set()
        for found in self.found:
            if found.layer not in layers:
                layers[found.layer] = self.types.features_of(found.layer)
                if layers[found.layer]:
                    typed.add(found.layer)
            if found.layer not in typed:
                layers[found.layer].update(dict.fromkeys(found.values, True))
        return layers


class CasReading(ABC):
    """What the formats for a CAS share: each of their files has one note."""

    @abstractmethod
    def cas(self, note: NoteFiles, files: Files) -> Cas:
        """The content of the file of a note. Raises NoteError."""

    def read_many(self, note: NoteFiles, files: Files, labels: Mapping[str, str]) -> Iterator[ParsedNote | NoteError]:
        """See `Format.read_many`."""
        try:
            yield self.cas(note, files).note(note.name, LabelFinder(labels))
        except NoteError as error:
            yield error

    def used_labels(self, note: NoteFiles, files: Files) -> Iterator[Counter[str]]:
        """See `Format.used_labels`."""
        with suppress(NoteError):
            yield self.cas(note, files).used_labels()
