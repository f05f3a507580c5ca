"""WebAnno TSV 3.3, the table of INCEpTION and WebAnno: `NAME.tsv`, one file for each note.

A head declares the layers and their columns. Each sentence has its text (`#Text=`) and a row for each token, with
parts of tokens below it; offsets count UTF-16 code units, as Java does. Values of several annotations on one row are
separated by `|`, and `[1]` marks an annotation on several rows. Reserved characters have a backslash.

The format doesn't hold the text between sentences. INCEpTION puts a line break and spaces there and a line break at the
end. Here, a sentence includes the white space that would be lost, and a line that INCEpTION ignores holds the text
before the first one. INCEpTION reads such a note exactly, except for white space at its start (which becomes spaces)
and the line break at its end. If `NAME.txt` is beside, the text is taken from there.

Attributes are written as further features of the layer of the spans, by default named entities. INCEpTION reads them
if its project has features of these names there.

Source: https://github.com/inception-project/inception, `webannotsv.adoc` in inception-io-webanno-tsv.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from itertools import chain, pairwise
from operator import attrgetter
from typing import Final

from annotations.formats import uima
from annotations.formats.base import Files, Format, LabelFinder, NoteFiles
from annotations.formats.notes import Loss, OutNote, ParsedNote, check_name, check_text, decode_utf8
from annotations.formats.token_tags import words_of
from annotations.formats.uima import Entity, Layer
from annotations.formats.webanno_tsv import reading
from annotations.formats.webanno_tsv.reading import TsvReader
from annotations.text.spans import Bounds, Token
from annotations.text.wording import gettext as _
from annotations.text.wording import gettext_noop

# Write a note as WebAnno TSV, in the way in which INCEpTION divides spans into tokens and parts of tokens.


_start, _end = attrgetter("start"), attrgetter("end")
_SPACES: Final = " "


class TsvWriter:
    """The rows of one note. `untouched` are entities that have no token at one of their ends."""

    def __init__(self, text: str, tokens: Sequence[Token], entities: Sequence[Entity], layer: Layer) -> None:
        self._text = text
        self._layer = layer
        self._tokens = tokens
        # The entities, by their index, on whole tokens and on parts of tokens, by the index of the token.
        self._on: dict[int, list[int]] = {}
        self._parts: dict[int, dict[Bounds, list[int]]] = {}
        self._entities: list[Entity] = []
        self._many: set[int] = set()
        self.untouched: list[Entity] = []
        for entity in entities:
            self._divide(entity)

    def content(self) -> str:
        """The file. Each sentence begins with its first token and ends before the line break before the next one."""
        features = [self._layer.label, *uima.feature_types(self._entities)]
        ids = self._ids()
        nothing = f"\t{reading.EMPTY}" * len(features) + "\t"
        rows = [f"{reading.FORMAT}3", f"#T_SP={self._layer.type}|{'|'.join(features)}", ""]
        units = uima.offsets_of(self._text)
        edges = self._tokens if units is int else [(units(start), units(stop)) for start, stop in self._tokens]
        words = words_of(self._text, self._tokens)
        begins = [
            bisect_left(self._tokens, start, key=_start)
            for start, _ in uima.whole_sentences(self._text, self._entities)
        ]
        starts = sorted({0, *begins, len(self._tokens)})
        first = self._tokens[0].start if self._tokens else len(self._text)
        before = reading.BEFORE + reading.escape_text(self._text[:first])
        if not self._tokens:
            return "\n".join([*rows, "", before, ""])
        for number, (at, past) in enumerate(pairwise(starts), 1):
            rows.append("")
            if number == 1:
                rows.append(before)
            end = self._tokens[past].start if past < len(self._tokens) else len(self._text)
            rows += [reading.TEXT + reading.escape_text(line) for line in self._sentence(at, end).split("\n")]
            for place, index in enumerate(range(at, past), 1):
                start, stop = edges[index]
                cells = self._cells(self._on[index], features, ids) if index in self._on else nothing
                rows.append(f"{number}-{place}\t{start}-{stop}\t{words[index]}{cells}")
                if index in self._parts:
                    parts = sorted(self._parts[index].items(), key=lambda part: (part[0][0], -part[0][1]))
                    rows += [
                        f"{number}-{place}.{each}\t{units(start)}-{units(stop)}\t{self._text[start:stop]}"
                        f"{self._cells(on, features, ids)}"
                        for each, ((start, stop), on) in enumerate(parts, 1)
                    ]
        return "\n".join([*rows, ""])

    def _sentence(self, at: int, end: int) -> str:
        """The text of a sentence up to the next one, without a last line break and indent, which readers put there."""
        text = self._text[self._tokens[at].start : end]
        bare = text.rstrip(_SPACES)
        return bare[:-1] if end < len(self._text) and bare.endswith("\n") else text

    def _divide(self, entity: Entity) -> None:
        """Put an entity on the tokens and the parts of tokens that it covers."""
        first = bisect_right(self._tokens, entity.start, key=_start) - 1
        last = bisect_left(self._tokens, entity.end, key=_end)
        covered = 0 <= first <= last < len(self._tokens)
        if not covered or self._tokens[first].end <= entity.start or entity.end <= self._tokens[last].start:
            self.untouched.append(entity)
            return
        index = len(self._entities)
        self._entities.append(entity)
        if first < last:
            self._many.add(index)
        for at in range(first, last + 1):
            token = self._tokens[at]
            start, end = max(token.start, entity.start), min(token.end, entity.end)
            if (start, end) == (token.start, token.end):
                self._on.setdefault(at, []).append(index)
            else:
                self._parts.setdefault(at, {}).setdefault((start, end), []).append(index)

    def _ids(self) -> dict[int, int]:
        """The disambiguation ids of entities on several rows, and of those that share a row."""
        needed = set(self._many)
        parts = (on for at in self._parts.values() for on in at.values())
        for on in chain(self._on.values(), parts):
            if len(on) > 1:
                needed.update(on)
        return {index: number for number, index in enumerate(sorted(needed), 1)}

    def _cells(self, on: Sequence[int], features: Sequence[str], ids: Mapping[int, int]) -> str:
        """The cells of a row, with the tabs around them. Entities on it are separated by `|`."""
        cells = ["|".join([self._value(index, name, ids) for index in on]) for name in features]
        return "\t" + "\t".join(cells) + "\t"

    def _value(self, index: int, feature: str, ids: Mapping[int, int]) -> str:
        entity = self._entities[index]
        value = entity.code if feature == self._layer.label else entity.features.get(feature)
        written = reading.NO_VALUE if value is None else reading.escape_value(value)
        return f"{written}[{ids[index]}]" if index in ids else written


_GUESSED = gettext_noop(
    "The file doesn't hold the text between sentences: line breaks and spaces were put there (places: {count}). "
    "Import the text file “{name}.txt” with it if the text must be exact."
)


class WebannoTsvFormat(Format):
    """Reads and writes WebAnno TSV. Spans are written as annotations of `layer`."""

    name = "webanno-tsv"
    endings = ("tsv", "txt")
    options = frozenset({"tokenizer", "layer"})
    layer = Layer()

    def claims(self, name: str, head: bytes) -> bool:
        return name.lower().endswith(".tsv") and head.removeprefix(b"\xef\xbb\xbf").startswith(reading.FORMAT.encode())

    def read(self, note: NoteFiles, files: Files, find_label: LabelFinder) -> ParsedNote:
        """A text file alone is a note without annotations."""
        beside = note.parts.get("txt")
        text = None if beside is None else decode_utf8(files.load(beside), beside)
        if "tsv" not in note.parts:
            return ParsedNote(note.name, text or "", None)
        file = note.parts["tsv"]
        reader = TsvReader(decode_utf8(files.load(file), file).removeprefix("\ufeff"), file)
        guessed = 0
        if text is None:
            text, guessed = reader.text()
            check_text(text, reader.file)
        reader.check_words(text)
        taker = uima.LayerTaker(text, reader.file, find_label)
        for each in reader.annotations():
            if each.start == each.end:
                taker.not_kept(_(uima.NO_CHARACTERS), each.line)
            else:
                layer = each.layer
                taker.take_annotation(layer.name, layer.names, each.values, each.start, each.end, line=each.line)
        reader.warn(taker)
        if guessed:
            taker.not_kept(_(_GUESSED, guessed, note.name))
        return taker.note(note.name)

    def write(self, note: OutNote, labels: Mapping[str, str]) -> tuple[dict[str, bytes], list[Loss]]:
        name = check_name(note.name)
        found, losses = uima.entities(note, labels, self.layer)
        writer = TsvWriter(note.text, self.tokenizer(note.text), found, self.layer)
        outside = _("The span begins or ends outside of all tokens.")
        losses += [Loss(name, entity.span, outside) for entity in writer.untouched]
        return {f"{name}.tsv": writer.content().encode()}, losses
