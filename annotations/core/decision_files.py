"""Commands that make a person's decisions from a CSV file, and that write the open decisions as such a file."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Access, Can
from annotations.core.commands import JourneyCommand, entered, find_project, progress_bar, read_rows, write_rows
from annotations.core.services import ServiceError
from annotations.formats.files.csv_files import DECISION, DecisionRow, RowError
from annotations.models import Document, User


class DecisionFileCommand(JourneyCommand):
    """A command that reads or writes a file of decisions. Each row is one decision, made by the service of the pages.

    A row that is refused changes nothing and is reported with its line; the others count.
    """

    columns: Sequence[str]
    """What is written, in this order."""
    needed: Sequence[str] = ("note", "start", "end", DECISION)
    """What a file must have."""

    def arguments(self, parser: CommandParser) -> None:
        parser.add_argument("project", metavar="PROJECT")
        self.more_arguments(parser)
        parser.add_argument(
            "file", metavar="FILE", type=Path, help=f"CSV with at least the columns {', '.join(self.needed)}."
        )
        parser.add_argument(
            "--write", action="store_true", help="Write what is open to FILE, with an empty column “decision”."
        )
        parser.add_argument(
            "--finish", action="store_true", help="Finish each note of the file in which nothing is open."
        )

    def more_arguments(self, parser: CommandParser) -> None:
        """Arguments between the project and the file."""

    def begin(self, access: Access, **options: Any) -> None:
        """Look up what the arguments name. Raises ServiceError."""

    def notes(self, access: Access) -> Iterable[Document]:
        """The notes in which something may be open, in order."""
        raise NotImplementedError

    def open_in(self, access: Access, note: Document) -> Iterable[Sequence[object]]:
        """The cells of the open decisions of a note, in the order of `columns`."""
        raise NotImplementedError

    def decide(self, access: Access, note: Document, row: DecisionRow) -> None:
        """Make one decision. Raises ServiceError or RowError."""
        raise NotImplementedError

    def finish(self, access: Access, note: Document) -> None:
        """Finish a note. Raises ServiceError where something is open."""
        raise NotImplementedError

    def act(self, actor: User | None, **options: Any) -> dict[str, Any]:
        access = entered(actor, find_project(options["project"]), Can.MAKE_GOLD)
        self.begin(access, **options)
        if options["write"]:
            return self._write(access, options["file"])
        return self._read(access, options["file"], finish=options["finish"])

    def _write(self, access: Access, path: Path) -> dict[str, Any]:
        rows = (cells for note in self.notes(access) for cells in self.open_in(access, note))
        return {"file": str(path), "open": write_rows(path, self.columns, rows)}

    def _read(self, access: Access, path: Path, *, finish: bool) -> dict[str, Any]:
        rows = [DecisionRow(row.line, row.cells) for row in read_rows(path, self.needed) if row.text(DECISION)]
        result: dict[str, Any] = {"decided": 0, "finished": [], "refused": []}
        notes: dict[str, Document] = {}
        with progress_bar("Deciding") as show:
            for done, row in enumerate(rows, 1):
                name = row.text("note")
                with _refused(result, name, row.line):
                    notes[name] = notes.get(name) or _find_note(access, name)
                    self.decide(access, notes[name], row)
                    result["decided"] += 1
                show(done, len(rows))
        for name, note in notes.items() if finish else ():
            with _refused(result, name):
                self.finish(access, note)
                result["finished"].append(name)
        if count := len(result["refused"]):
            result["failed"] = f"{count} decisions were refused; the others were made."
        return result

    def say(self, result: dict[str, Any]) -> str:
        if "file" in result:
            return f"Wrote {result['open']} open decisions to {result['file']}."
        return "\n".join([
            f"Made {result['decided']} decisions. Finished {len(result['finished'])} notes.",
            *(_where(each) for each in result["refused"]),
        ])  # fmt: skip


@contextmanager
def _refused(result: dict[str, Any], note: str, line: int | None = None) -> Iterator[None]:
    """List an error of the block in the result, and go on after the block."""
    try:
        yield
    except (ServiceError, RowError) as error:
        code = error.code if isinstance(error, ServiceError) else "row"
        result["refused"].append({"line": line, "note": note, "error": str(error), "code": code})


def _find_note(access: Access, name: str) -> Document:
    """Find a note by its name. Raises ServiceError `note`."""
    found = Document.objects.filter(project=access.project, name=name).first()
    if found is None:
        raise ServiceError(f"There is no note “{name[:80]}” in “{access.project.slug}”.", code="note")
    found.project = access.project
    return found


def _where(refused: dict[str, Any]) -> str:
    line = f"line {refused['line']}, " if refused["line"] else ""
    return f"{line}{refused['note']}: {refused['error']}"
