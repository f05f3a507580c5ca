"""Log lines without note text: request bodies, SQL parameters and exception messages never reach a log."""

import json
import logging
import re
import traceback
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from typing import Any

# The id of the request that this thread answers (deidreview.metrics); empty outside of requests.
request_id: ContextVar[str] = ContextVar("request_id", default="")
_TRACEBACK = "Traceback (most recent call last)"
_FRAME = re.compile(r'^\s*File "(?P<file>[^"\n]+)", line (?P<line>\d+), in (?P<name>[\w<>.]+)', re.MULTILINE)


def _locations(frames: list[str]) -> str:
    return " < ".join(reversed(frames[-6:]))


def _quiet(value: Any) -> Any:
    """Reduce an argument of a log message: an exception to its type, a formatted traceback to its code locations."""
    if isinstance(value, BaseException):
        return type(value).__name__
    if isinstance(value, str) and _TRACEBACK in value:
        return "exception at " + _locations([f"{m['file']}:{m['line']} {m['name']}" for m in _FRAME.finditer(value)])
    return value


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an exception and its causes."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _without_messages(record: logging.LogRecord) -> None:
    """Replace exception messages in the line by their types. Django's django.security.* loggers log messages."""
    error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
    # A DisallowedHost quotes only the Host header, which the administrator needs to see.
    if error is None or record.name == "django.security.DisallowedHost":
        return
    line = record.getMessage()
    for one in _chain(error):
        if str(one):
            line = line.replace(str(one), type(one).__name__)
    record.msg, record.args = line, ()


class NoNoteText(logging.Filter):
    """Removes everything that could quote a note: SQL with its parameters, request objects, exception messages."""

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


class QuietFormatter(logging.Formatter):
    """Writes an exception as its type and location, since its message may quote data."""

    def formatException(self, ei: Any) -> str:
        kind, _, trace = ei
        frames = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in traceback.extract_tb(trace)]
        return f"{kind.__name__ if kind else 'exception'} at {_locations(frames)}"

    def formatStack(self, stack_info: str) -> str:
        return str(_quiet(f"{_TRACEBACK}\n{stack_info}"))


class LineFormatter(QuietFormatter):
    """Writes each entry as one line."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(name)s %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        # Another handler may have stored the whole traceback here.
        record.exc_text = None
        line = super().format(record)
        record.exc_text = None
        # A line break in a value (a path, a name) must not look like another entry.
        return line.replace("\r", "\\r").replace("\n", " | ")


class JsonFormatter(QuietFormatter):
    """Writes each entry as one JSON object, for collectors of logs (DEIDREVIEW_LOG_FORMAT=json).

    Values that a library added to an entry are left out, since they may quote data.
    """

    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if request_id.get():
            entry["request_id"] = request_id.get()
        if record.exc_info:
            entry["exc_info"] = self.formatException(record.exc_info)
        if record.stack_info:
            entry["stack_info"] = self.formatStack(record.stack_info)
        return json.dumps(entry, ensure_ascii=False)
