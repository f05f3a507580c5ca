"""Write notes in a format: each into files of its own, or all notes of a folder into one file."""

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import IO, Final, Self

from annotations.formats.base import Format, Loss, OneFileFormat, OutNote, Sink

# Above this many bytes, a file of many notes moves from memory to disk.
IN_MEMORY: Final = 1024 * 1024


class NoteFilesWriter:
    """A context that writes notes. `labels` is as in `Format.write`.

    `writer_for` gives the format for a language. A file with many notes is written as for the language of its first
    note.
    """

    def __init__(self, writer_for: Callable[[str], Format], labels: Mapping[str, str]) -> None:
        self._writer_for = writer_for
        self._labels = labels
        self._files: dict[str, tuple[OneFileFormat, Sink, IO[bytes]]] = {}
        self._stack = ExitStack()
        self._sinks = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # An unfinished file is of no use, so its sink is left as it is.
        self._stack.close()

    def add(self, note: OutNote, *, folder: str = "", language: str = "") -> tuple[dict[str, bytes], list[Loss]]:
        """Write a note. Return the files of its own, and the spans that the format can't hold completely.

        `folder` is empty or ends with “/”. Raises as `Format.write` does.
        """
        format = self._files[folder][0] if folder in self._files else self._writer_for(language)
        if not isinstance(format, OneFileFormat):
            files, losses = format.write(note, self._labels)
        else:
            if folder not in self._files:
                file: IO[bytes] = tempfile.SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - __exit__ closes it
                self._stack.enter_context(file)
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
