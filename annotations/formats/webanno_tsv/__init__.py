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

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

from annotations.formats.base import Files, LabelFinder, Loss, NoteFiles, OutNote, split_names
from annotations.formats.notes import NoteError, ParsedNote, Problem, check_name, check_text, decode_utf8
from annotations.formats.taking import SpanTaker
from annotations.formats.uima import Layer, UsedLayers, entities
from annotations.formats.webanno_tsv.reading import FORMAT, TsvReader, take
from annotations.formats.webanno_tsv.writing import TsvWriter
from annotations.text.labels import LabelSetDef
from annotations.text.tokens import Tokenizer, tokenize

_GUESSED = (
    "The file doesn't hold the text between sentences: line breaks and spaces were put there (places: {count}). "
    "Import the text file “{name}.txt” with it if the text must be exact."
)


class WebannoTsvFormat:
    """Reads and writes WebAnno TSV. For writing, another tokenizer and the layer of the spans can be given."""

    name = "webanno-tsv"

    def __init__(self, tokenizer: Tokenizer = tokenize, layer: Layer | None = None) -> None:
        self._tokenizer = tokenizer
        self._layer = layer or Layer()

    def claims(self, name: str, head: bytes) -> bool:
        """See `Format.claims`."""
        return name.lower().endswith(".tsv") and head.removeprefix(b"\xef\xbb\xbf").startswith(FORMAT.encode())

    def group(self, names: Iterable[str]) -> tuple[list[NoteFiles], list[Problem]]:
        """See `Format.group`. A text file alone is a note without annotations."""
        notes, problems = split_names(names, ["tsv", "txt"])
        return [NoteFiles(name, parts) for name, parts in sorted(notes.items())], problems

    def read_many(self, note: NoteFiles, files: Files, labels: Mapping[str, str]) -> Iterator[ParsedNote | NoteError]:
        """See `Format.read_many`."""
        try:
            yield self._read(note, files, labels)
        except NoteError as error:
            yield error

    def _read(self, note: NoteFiles, files: Files, labels: Mapping[str, str]) -> ParsedNote:
        beside = note.parts.get("txt")
        text = None if beside is None else decode_utf8(files.load(beside), beside)
        if "tsv" not in note.parts:
            return ParsedNote(note.name, text or "", None)
        reader = _reader(note, files)
        guessed = 0
        if text is None:
            text, guessed = reader.text()
            check_text(text, reader.file)
        reader.check_words(text)
        find_label = LabelFinder(labels)
        taker, layers = SpanTaker(text, reader.file, find_label, utf16=True), UsedLayers(find_label)
        for found in reader.annotations():
            take(found, taker, layers)
        reader.warn(taker)
        if guessed:
            taker.not_kept(_GUESSED.format(count=guessed, name=note.name))
        return replace(taker.note(note.name), layers=layers.found)

    def used_labels(self, note: NoteFiles, files: Files) -> Iterator[Counter[str]]:
        """See `Format.used_labels`."""
        if "tsv" in note.parts:
            with suppress(NoteError):
                yield Counter(
                    found.named()[0] for found in _reader(note, files).annotations() if found.start < found.end
                )

    def write(self, note: OutNote, labels: Mapping[str, str]) -> tuple[dict[str, bytes], list[Loss]]:
        """See `Format.write`."""
        name = check_name(note.name)
        found, losses = entities(note, labels, self._layer)
        writer = TsvWriter(note.text, self._tokenizer(note.text), found, self._layer)
        outside = "The span begins or ends outside of all tokens."
        losses += [Loss(name, entity.span, outside) for entity in writer.untouched]
        return {f"{name}.tsv": writer.content().encode()}, losses

    def extra_files(self, labels: LabelSetDef) -> dict[str, bytes]:
        """See `Format.extra_files`. This format has none."""
        return {}


def _reader(note: NoteFiles, files: Files) -> TsvReader:
    file = note.parts["tsv"]
    return TsvReader(decode_utf8(files.load(file), file).removeprefix("\ufeff"), file)
