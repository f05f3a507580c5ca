"""No note text reaches a log, whatever exception is raised."""

import io
import logging
import traceback

import pytest
from django.core.exceptions import DisallowedHost
from django.test import Client

from deidreview.logs import LineFormatter, NoNoteText
from tests.factories import make_user

TEXT = "Mario Rossi, via Roma 1"


@pytest.fixture
def log():
    """A logger configured like the app's, and its output."""
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    handler.addFilter(NoNoteText())
    handler.setFormatter(LineFormatter())
    logger = logging.getLogger("tests.logs")
    logger.handlers, logger.propagate = [handler], False
    logger.setLevel(logging.DEBUG)
    return logger, out


def fail():
    raise ValueError(f"cannot parse {TEXT!r}")


def test_an_exception_is_logged_only_by_type_and_location(log):
    logger, out = log
    try:
        fail()
    except ValueError:
        logger.exception("import 7 failed")
    line = out.getvalue()
    assert "import 7 failed | ValueError at " in line and "test_logs.py" in line
    assert "Mario" not in line and line.count("\n") == 1


def test_causes_of_an_exception_are_not_quoted(log):
    logger, out = log
    try:
        try:
            fail()
        except ValueError as error:
            raise RuntimeError(f"while reading {TEXT}") from error
    except RuntimeError:
        logger.exception("failed")
    assert "RuntimeError at " in out.getvalue() and "Mario" not in out.getvalue()


def test_a_message_written_out_beside_its_exception(log):
    logger, out = log
    try:
        fail()
    except ValueError as error:
        logger.exception(f"import failed: {error}")  # a mistake that is easy to make
    assert "import failed: ValueError | ValueError at " in out.getvalue() and "Mario" not in out.getvalue()


def test_a_refused_host_is_named(log):
    logger, out = log
    error = DisallowedHost("Invalid HTTP_HOST header: 'evil.example'.")
    record = logging.LogRecord("django.security.DisallowedHost", 40, "", 0, str(error), (), (type(error), error, None))
    logger.handle(record)
    assert "evil.example" in out.getvalue()


def test_exceptions_as_arguments(log):
    logger, out = log
    try:
        fail()
    except ValueError as error:
        logger.warning("bad: %s", error)
        logger.warning("bad: %(why)s", {"why": error})
        logger.warning(error)
    assert out.getvalue().count("ValueError") == 3 and "Mario" not in out.getvalue()


def test_formatted_tracebacks_as_arguments(log):
    """RQ logs tracebacks this way."""
    logger, out = log
    try:
        fail()
    except ValueError:
        logger.error("[Job %s]: exception raised while executing (%s)\n%s", "7", "run", traceback.format_exc())
    line = out.getvalue()
    assert "[Job 7]" in line and "fail" in line and "Mario" not in line and line.count("\n") == 1


def test_a_traceback_stored_by_another_handler_is_not_used(log):
    logger, out = log
    try:
        fail()
    except ValueError:
        import sys

        record = logger.makeRecord("x", logging.ERROR, "f", 1, "failed", (), sys.exc_info())
        logging.Formatter().format(record)
        assert TEXT in record.exc_text
        logger.handle(record)
    assert "Mario" not in out.getvalue()


def test_stack_info_contains_only_locations(log):
    logger, out = log
    logger.warning("here", stack_info=True)
    assert "test_logs.py" in out.getvalue() and "logger.warning" not in out.getvalue()


def test_queries_with_parameters_are_dropped():
    assert not NoNoteText().filter(logging.makeLogRecord({"name": "django.db.backends", "msg": "INSERT", "args": ()}))


def test_a_line_break_in_a_value_does_not_start_a_new_entry(log):
    logger, out = log
    logger.warning("Not Found: %s", "/x\n2026-01-01 00:00:00 CRITICAL forged\r")
    assert out.getvalue().count("\n") == 1 and "\r" not in out.getvalue()


@pytest.mark.django_db
@pytest.mark.urls("tests.deidreview.test_headers")
def test_a_request_that_fails(monkeypatch):
    """Uses the app's own handler with another stream."""
    out = io.StringIO()
    console = next(handler for handler in logging.getLogger().handlers if isinstance(handler.formatter, LineFormatter))
    monkeypatch.setattr(console, "stream", out)
    client = Client(raise_request_exception=False)
    client.force_login(make_user())
    assert client.post("/broken", {"text": TEXT}).status_code == 500
    assert client.get("/malformed").status_code == 400
    assert "Internal Server Error: /broken | ValueError at " in out.getvalue()
    assert "Mario" not in out.getvalue()
