"""No note text reaches a log, whatever exception is raised."""

import io
import logging
import traceback

import pytest
from django.core.exceptions import DisallowedHost

from deidreview.logs import LineFormatter, NoNoteText
from tests.factories import make_user
from tests.worlds.pages import signed_in

TEXT = "Mario Rossi, via Roma 1"


def log_of(name, formatter):
    """A logger configured like the app's, and its output."""
    out = io.StringIO()
    handler = logging.StreamHandler(out)
    handler.addFilter(NoNoteText())
    handler.setFormatter(formatter)
    logger = logging.getLogger(name)
    logger.handlers, logger.propagate = [handler], False
    logger.setLevel(logging.DEBUG)
    return logger, out


@pytest.fixture
def log():
    return log_of("tests.logs", LineFormatter())


@pytest.fixture
def failing(log):
    """`failing(how)`: let `how(logger, error)` log an exception that quotes the note, and return the output."""
    logger, out = log

    def fail(how):
        try:
            raise ValueError(f"cannot parse {TEXT!r}")
        except ValueError as error:
            how(logger, error)
        assert "Mario" not in out.getvalue()
        return out.getvalue()

    return fail


def test_an_exception_is_logged_only_by_type_and_location(failing):
    line = failing(lambda logger, error: logger.exception("import 7 failed"))
    assert "import 7 failed | ValueError at " in line and "test_logs.py" in line and line.count("\n") == 1


def test_causes_of_an_exception_are_not_quoted(failing):
    def again(logger, error):
        try:
            raise RuntimeError(f"while reading {TEXT}") from error
        except RuntimeError:
            logger.exception("failed")

    assert "RuntimeError at " in failing(again)


def test_a_message_written_out_beside_its_exception(failing):
    line = failing(lambda logger, error: logger.exception(f"import failed: {error}"))  # a mistake that is easy to make
    assert "import failed: ValueError | ValueError at " in line


def test_a_refused_host_is_named(log):
    logger, out = log
    error = DisallowedHost("Invalid HTTP_HOST header: 'evil.example'.")
    record = logging.LogRecord("django.security.DisallowedHost", 40, "", 0, str(error), (), (type(error), error, None))
    logger.handle(record)
    assert "evil.example" in out.getvalue()


def test_exceptions_as_arguments(failing):
    def warn(logger, error):
        logger.warning("bad: %s", error)
        logger.warning("bad: %(why)s", {"why": error})
        logger.warning(error)

    assert failing(warn).count("ValueError") == 3


def test_formatted_tracebacks_as_arguments(failing):
    """RQ logs tracebacks this way."""
    line = failing(lambda logger, error: logger.error("[Job %s]: %s\n%s", "7", "run", traceback.format_exc()))
    assert "[Job 7]" in line and "fail" in line and line.count("\n") == 1


def test_a_traceback_stored_by_another_handler_is_not_used(failing):
    def handle(logger, error):
        record = logger.makeRecord("x", logging.ERROR, "f", 1, "failed", (), (type(error), error, error.__traceback__))
        logging.Formatter().format(record)
        assert TEXT in record.exc_text
        logger.handle(record)

    failing(handle)


def test_stack_info_contains_only_locations_and_a_line_break_starts_no_new_entry(log):
    logger, out = log
    logger.warning("Not Found: %s", "/x\n2026-01-01 00:00:00 CRITICAL forged\r")
    assert out.getvalue().count("\n") == 1 and "\r" not in out.getvalue()
    logger.warning("here", stack_info=True)
    assert "test_logs.py" in out.getvalue() and "logger.warning" not in out.getvalue()


def test_queries_with_parameters_are_dropped():
    assert not NoNoteText().filter(logging.makeLogRecord({"name": "django.db.backends", "msg": "INSERT", "args": ()}))


@pytest.mark.django_db
@pytest.mark.urls("tests.deidreview.test_headers")
def test_a_request_that_fails(monkeypatch):
    """Uses the app's own handler with another stream."""
    out = io.StringIO()
    console = next(handler for handler in logging.getLogger().handlers if isinstance(handler.formatter, LineFormatter))
    monkeypatch.setattr(console, "stream", out)
    client = signed_in(make_user(), raise_request_exception=False)
    assert client.post("/broken", {"text": TEXT}).status_code == 500
    assert client.get("/malformed").status_code == 400
    assert "Internal Server Error: /broken | ValueError at " in out.getvalue()
    assert "Mario" not in out.getvalue()
