"""Commands that make a person's decisions from a CSV file, and that write the open decisions as such a file."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotations.core.access import Access, Can
from annotations.core.commands import JourneyCommand, entered, find_project, read_rows, write_rows
from annotations.core.errors import ServiceError
from annotations.core.progress import bar
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
        made = _Made()
        with bar("Deciding", len(rows)) as step:
            for row in rows:
                self._row(access, row, made)
                step()
        if finish:
            self._finish(access, made)
        return made.result()

    def _row(self, access: Access, row: DecisionRow, made: "_Made") -> None:
        name = row.text("note")
        try:
            note = made.note(access, name)
            self.decide(access, note, row)
        except (ServiceError, RowError) as error:
            made.refuse(name, error, line=row.line)
        else:
            made.decided += 1

    def _finish(self, access: Access, made: "_Made") -> None:
        for name, note in made.notes.items():
            try:
                self.finish(access, note)
            except ServiceError as error:
                made.refuse(name, error)
            else:
                made.finished.append(name)

    def say(self, result: dict[str, Any]) -> str:
        if "file" in result:
            return f"Wrote {result['open']} open decisions to {result['file']}."
        return "\n".join([
            f"Made {result['decided']} decisions. Finished {len(result['finished'])} notes.",
            *(_where(each) for each in result["refused"]),
        ])  # fmt: skip


class _Made:
    """What a file has led to so far."""

    def __init__(self) -> None:
        self.decided = 0
        self.finished: list[str] = []
        self.notes: dict[str, Document] = {}
        self._refused: list[dict[str, Any]] = []

    def note(self, access: Access, name: str) -> Document:
        """Find a note by its name. Raises ServiceError `note`."""
        if name not in self.notes:
            found = Document.objects.filter(project=access.project, name=name).first()
            if found is None:
                raise ServiceError(f"There is no note “{name[:80]}” in “{access.project.slug}”.", code="note")
            found.project = access.project
            self.notes[name] = found
        return self.notes[name]

    def refuse(self, note: str, error: Exception, line: int | None = None) -> None:
        code = error.code if isinstance(error, ServiceError) else "row"
        self._refused.append({"line": line, "note": note, "error": str(error), "code": code})

    def result(self) -> dict[str, Any]:
        result: dict[str, Any] = {"decided": self.decided, "finished": self.finished, "refused": self._refused}
        if self._refused:
            result["failed"] = f"{len(self._refused)} decisions were refused; the others were made."
        return result


def _where(refused: dict[str, Any]) -> str:
    line = f"line {refused['line']}, " if refused["line"] else ""
    return f"{line}{refused['note']}: {refused['error']}"
