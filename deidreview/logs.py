"""Log lines without note text: request bodies, SQL parameters, exception messages never reach a log."""

import logging
import re
import traceback
from collections.abc import Iterator, Mapping
from typing import Any

_TRACEBACK = "Traceback (most recent call last)"
_FRAME = re.compile(r'^\s*File "(?P<file>[^"\n]+)", line (?P<line>\d+), in (?P<name>[\w<>.]+)', re.MULTILINE)


def _place(frames: list[str]) -> str:
    return " < ".join(reversed(frames[-6:]))


def _quiet(value: Any) -> Any:
    """An argument of a log message: of exceptions the type, of formatted tracebacks the places."""
    if isinstance(value, BaseException):
        return type(value).__name__
    if isinstance(value, str) and _TRACEBACK in value:
        return "exception at " + _place([f"{m['file']}:{m['line']} {m['name']}" for m in _FRAME.finditer(value)])
    return value


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An exception and what it came from."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _without_messages(record: logging.LogRecord) -> None:
    """Django logs some exceptions by their message (django.security.*); so may anybody with an f-string."""
    error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
    # A DisallowedHost quotes the Host header only, which the administrator wants to see.
    if error is None or record.name == "django.security.DisallowedHost":
        return
    line = record.getMessage()
    for one in _chain(error):
        if str(one):
            line = line.replace(str(one), type(one).__name__)
    record.msg, record.args = line, ()


class NoNoteText(logging.Filter):
    """Takes out what could quote a note: SQL with its parameters, request objects, exceptions' messages."""

    def filter(self, record: logging.LogRecord) -> bool:
        if record.name.startswith("django.db.backends"):
            return False
        for name in ("request", "params", "sql"):
            if hasattr(record, name):
                delattr(record, name)
        record.msg = _quiet(record.msg)
        if isinstance(record.args, Mapping):
            record.args = {key: _quiet(value) for key, value in record.args.items()}
        elif record.args:
            record.args = tuple(_quiet(value) for value in record.args)
        _without_messages(record)
        return True


class LineFormatter(logging.Formatter):
    """One line an entry. Of an exception: its type and where, not its message, which may quote data."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        # Another handler may have left the whole traceback here.
        record.exc_text = None
        line = super().format(record)
        record.exc_text = None
        # A line break in a value (a path, a name) must not look like another entry.
        return line.replace("\r", "\\r").replace("\n", " | ")

    def formatException(self, ei: Any) -> str:
        kind, _, trace = ei
        frames = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(trace)]
        return f"{kind.__name__ if kind else 'exception'} at {_place(frames)}"

    def formatStack(self, stack_info: str) -> str:
        return str(_quiet(f"{_TRACEBACK}\n{stack_info}"))
