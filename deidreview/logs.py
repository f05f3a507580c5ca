"""Log lines without note text: request bodies, SQL parameters and local variables never reach a log."""

import logging
import traceback


class NoNoteText(logging.Filter):
    """Drops what could quote a note: SQL with its parameters, and the request object of error records."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name.startswith("django.db.backends"):
            return False
        for name in ("request", "params", "sql"):
            if hasattr(record, name):
                delattr(record, name)
        return True


class LineFormatter(logging.Formatter):
    """One line an entry. Of an exception: its type and where, not its message, which may quote data."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")

    def formatException(self, ei):  # type: ignore[no-untyped-def]
        kind, _, trace = ei
        frames = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(trace)]
        return f"{kind.__name__} at " + " < ".join(reversed(frames[-6:]))
