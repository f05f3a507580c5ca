"""How an export writes its notes: empty rows between sentences, spaces around spans, and the tokenizer."""

import os
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, Any, Final

from django.utils.translation import gettext as _

from annotations.core.services import ServiceError
from annotations.core.tokenizers import Tokenizers, check_tokenizer
from annotations.formats import FORMATS, OPTIONS, writer
from annotations.formats.base import Format, OneFileFormat, Sink
from annotations.formats.files.zips import new_entry
from annotations.formats.notes import Loss, OutNote
from annotations.formats.uima import Layer


@dataclass(frozen=True)
class ExportOptions:
    """Options of an export.

    CoNLL's empty rows between `sentences`, `spaced` spans, a `tokenizer` by name, and the UIMA `layer` of the spans
    (`TYPE:FEATURE`; empty: named entities).
    """

    sentences: bool = False
    spaced: bool = False
    tokenizer: str = ""
    layer: str = ""

    def chosen(self) -> dict[str, Any]:
        """The options that differ from the default, by name."""
        return {name: value for name, value in asdict(self).items() if value}

    def words(self) -> list[str]:
        """The chosen options in words, for the name of a file."""
        return [value if isinstance(value, str) else name for name, value in self.chosen().items()]

    def check(self, format: str) -> None:
        """Raise ServiceError unless the format exists and has all chosen options."""
        if format not in FORMATS:
            message = _("There is no format “%(format)s”. Choose one of: %(choices)s.")
            raise ServiceError(message % {"format": format, "choices": ", ".join(FORMATS)}, code="format")
        check_tokenizer(self.tokenizer)
        missing = set(self.chosen()) - OPTIONS.get(format, frozenset())
        if "sentences" in missing:
            raise ServiceError(_("Only CoNLL has empty rows. Choose CoNLL, or leave out this option."), code="options")
        if "layer" in missing:
            message = _("Only XMI, CAS JSON and WebAnno TSV have layers. Choose one of them, or leave out the layer.")
            raise ServiceError(message, code="options")
        try:
            Layer.named(self.layer)
        except ValueError:
            raise ServiceError(
                _("“%(layer)s” is not a layer. Write a type with its package, a colon and a feature: %(example)s.")
                % {"layer": self.layer, "example": "webanno.custom.PHI:kind"},
                code="layer",
            ) from None
        if missing:
            raise ServiceError(
                _("The format “%(format)s” takes neither a tokenizer nor inserted spaces. Leave out these options.")
                % {"format": format}
                if len(missing) > 1 or not OPTIONS.get(format)
                else _("The format “%(format)s” doesn't take the option “%(option)s”. Leave it out.")
                % {"format": format, "option": missing.pop()},
                code="options",
            )
        if format == "brat" and self.tokenizer and not self.spaced:
            message = _("brat has no tokens: its tokenizer only decides where spaces are inserted. Insert spaces, too.")
            raise ServiceError(message, code="options")


def writers(format: str, writing: ExportOptions, tags: Mapping[str, str]) -> Callable[[str], Format]:
    """The writers of one export, by the language of the notes. `tags` are those of the layer, by code.

    A writer raises ServiceError if its tokenizer can't be had.
    """
    layer = replace(Layer.named(writing.layer), tags=tags)
    made = writer(format, sentences=writing.sentences, spaced=writing.spaced, layer=layer)
    tokenizers = Tokenizers(writing.tokenizer)
    return lambda language: made.with_options(tokenizer=tokenizers(language))


# Write the files of an export to a folder or a zip, so that nothing half-written remains.


Content = bytes | IO[bytes]


def check_out(out: Path) -> None:
    """Raise ServiceError `out` unless a folder or zip can be written there: it is new, or an empty folder."""
    if out.exists() and (out.suffix == ".zip" or not out.is_dir() or any(out.iterdir())):
        message = _("“%(out)s” exists and is not an empty folder. Nothing was written. Choose another path.")
        raise ServiceError(message % {"out": out}, code="out")


def write_to_path(
    out: Path, files: Iterator[tuple[str, Content]], finish: Callable[[Callable[[], object]], object]
) -> None:
    """Write files, by their names, to a new or empty folder or to a .zip.

    The files are written beside it first. `finish` gets the function that moves them to `out`, and calls it in its
    transaction. Raises ServiceError `out`; whatever is raised, nothing is left.
    """
    check_out(out)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(prefix=f".{out.name}-", dir=out.parent))
    except OSError as error:
        raise _cant_write(out, error) from error
    try:
        if out.suffix == ".zip":
            written = beside / "part.zip"
            with written.open("wb") as target:
                write_zip(target, files)
        else:
            written = beside / "notes"
            written.mkdir()
            _write_folder(written, files)
        finish(lambda: written.replace(out))
    except OSError as error:
        raise _cant_write(out, error) from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _cant_write(out: Path, error: OSError) -> ServiceError:
    message = _("Can't write to “%(out)s”: %(strerror)s. Nothing was written.")
    return ServiceError(message % {"out": out, "strerror": error.strerror}, code="out")


def _write_folder(folder: Path, files: Iterator[tuple[str, Content]]) -> None:
    made = {folder}
    for name, data in files:
        path = folder / name
        if path.parent not in made:
            path.parent.mkdir(parents=True, exist_ok=True)
            made.add(path.parent)
        if isinstance(data, bytes):
            path.write_bytes(data)
            continue
        with path.open("wb") as target:
            shutil.copyfileobj(data, target)


def write_zip(target: IO[bytes], files: Iterator[tuple[str, Content]]) -> None:
    """Write files to a zip. The same files give the same bytes."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files:
            entry = new_entry(name)
            if isinstance(data, bytes):
                archive.writestr(entry, data)
                continue
            # The archive must know the size beforehand to allow more than 2 GiB.
            entry.file_size = data.seek(0, os.SEEK_END)
            data.seek(0)
            with archive.open(entry, "w") as written:
                shutil.copyfileobj(data, written)


# Write notes in a format: each into files of its own, or all notes of a folder into one file.


# Above this many bytes, a file of many notes moves from memory to disk.
IN_MEMORY: Final = 1024 * 1024


class NoteFilesWriter(ExitStack):
    """A context that writes notes. `labels` is as in `Format.write`.

    `writer_for` gives the format for a language. A file with many notes is written as for the language of its first
    note.
    """

    def __init__(self, writer_for: Callable[[str], Format], labels: Mapping[str, str]) -> None:
        super().__init__()
        self._writer_for = writer_for
        self._labels = labels
        self._files: dict[str, tuple[OneFileFormat, Sink, IO[bytes]]] = {}
        # An unfinished file is of no use, so only `finish` closes these.
        self._sinks = ExitStack()

    def add(self, note: OutNote, *, folder: str = "", language: str = "") -> tuple[dict[str, bytes], list[Loss]]:
        """Write a note. Return the files of its own, and the spans that the format can't hold completely.

        `folder` is empty or ends with “/”. Raises as `Format.write` does.
        """
        format = self._files[folder][0] if folder in self._files else self._writer_for(language)
        if not isinstance(format, OneFileFormat):
            files, losses = format.write(note, self._labels)
        else:
            if folder not in self._files:
                file: IO[bytes] = self.enter_context(tempfile.SpooledTemporaryFile(IN_MEMORY))  # noqa: SIM115 - a context of its own
                self._files[folder] = format, self._sinks.enter_context(format.sink(file, self._labels)), file
            losses = self._files[folder][1](note)
            files = format.beside(note)
        return {folder + name: data for name, data in files.items()}, losses

    def finish(self) -> Iterator[tuple[str, IO[bytes]]]:
        """Complete the files with many notes, and yield their names and contents."""
        self._sinks.close()
        for folder, (format, _sink, file) in self._files.items():
            file.seek(0)
            yield format.path(folder), file
