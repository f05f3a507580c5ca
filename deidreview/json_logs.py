"""Log entries as JSON, one object on each line, for collectors of logs (DEIDREVIEW_LOG_FORMAT=json)."""

import logging
from typing import Any

from pythonjsonlogger.json import JsonFormatter as Base

from deidreview.logs import QuietFormatter, request_id


class JsonFormatter(QuietFormatter, Base):
    """Writes time, level, logger, message, request id and location of an exception, and nothing else of an entry."""

    def __init__(self) -> None:
        Base.__init__(self, "%(message)s", json_ensure_ascii=False)

    def format(self, record: logging.LogRecord) -> str:
        # Another handler may have stored the whole traceback here.
        record.exc_text = None
        line = str(Base.format(self, record))
        record.exc_text = None
        return line

    def add_fields(self, log_data: dict[str, Any], record: logging.LogRecord, message_dict: dict[str, Any]) -> None:
        """Name the fields. Values that a library added to an entry are left out, since they may quote data."""
        log_data["time"] = self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z")
        log_data["level"] = record.levelname
        log_data["logger"] = record.name
        log_data["message"] = record.getMessage()
        if request_id.get():
            log_data["request_id"] = request_id.get()
        for name in ("exc_info", "stack_info"):
            if message_dict.get(name):
                log_data[name] = message_dict[name]
