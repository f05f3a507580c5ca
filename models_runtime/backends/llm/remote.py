"""A server with OpenAI's chat completions API (vLLM, Ollama, llama.cpp and others), through the `openai` client.

Text is sent only to the listed address, without proxies and redirects. Responses are limited in bytes and in time
(`bounded`). A server's error message may quote the note, so our errors give the server, the status and what to do,
never the server's message.
"""

import email.utils
import logging
import os
import random
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, cast

import openai
from openai import DefaultHttpxClient, OpenAI
from openai.types.chat import ChatCompletion

from annotations.text.wording import gettext as _
from models_runtime.backends.base import BackendError
from models_runtime.backends.bounded import MOST_BYTES, BoundedTransport, ServerRequests, TooLong
from models_runtime.backends.llm.asking import Answer, Meter, Question, ToolCall
from models_runtime.backends.llm.servers import Server

TRIES: Final = 5
"""Attempts per question, with pauses of 1, 2, 4 and 8 seconds (each up to twice as long), or as the server asks."""
LONGEST_WAIT: Final = 60.0
# From strict to lenient. A server rejects formats that it doesn't support.
FORMATS: Final = ("json_schema", "json_object", "text")

# At level DEBUG, these libraries log whole requests, regardless of OPENAI_LOG.
for _name in ("openai", "httpx", "httpx2", "httpcore", "httpcore2"):
    logging.getLogger(_name).setLevel(logging.WARNING)


class RemoteCompletion(ServerRequests):
    """A model of a listed server. `sleep`: a function that waits for a number of seconds."""

    def __init__(
        self, server: Server, model: str, meter: Meter, *, sleep: Callable[[float], object] | None = None
    ) -> None:
        super().__init__(server.name, server.seconds, MOST_BYTES, sleep)
        self.at_once = server.at_once
        self._model, self.meter = model, meter
        self._format = 0
        self._client = OpenAI(
            base_url=server.url,
            api_key=os.environ.get(server.key_variable) or "none",
            max_retries=0,
            timeout=server.seconds,
            http_client=DefaultHttpxClient(
                trust_env=False,
                follow_redirects=False,
                timeout=server.seconds,
                transport=BoundedTransport(seconds=server.seconds, at_once=server.at_once),
            ),
        )

    def complete(self, question: Question) -> Answer:
        """Ask a question, with retries. Raises BackendError."""
        return self._counted(lambda: self._tried(question))

    def _tried(self, question: Question) -> Answer:
        for attempt in range(1, TRIES + 1):
            try:
                return self._asked(question)
            except openai.APIError as error:
                verdict = self._verdict(error)
                if verdict is not None:
                    raise verdict from None
                if attempt < TRIES and not self._over.is_set():
                    self._sleep(_pause(error, attempt))
                if attempt == TRIES or self._over.is_set():
                    raise self._gave_up(error) from None
                self.meter.add(retries=1)
        raise AssertionError("unreachable")

    def _asked(self, question: Question) -> Answer:
        """Send a request. If the server rejects the answer format, switch to the next more lenient one for good.

        A server that rejects a question with tools has none.
        """
        while True:
            format_at = self._format if question.schema and not question.tools else len(FORMATS) - 1
            try:
                return self._read(self._sent(question, FORMATS[format_at]), tools=bool(question.tools))
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                if _is_too_long(error):
                    raise
                if question.tools:
                    return Answer("", no_tools=True)
                if FORMATS[format_at] == "text":
                    raise
                with self._lock:
                    self._format = max(self._format, format_at + 1)

    def _sent(self, question: Question, answer_format: str) -> ChatCompletion:
        self.meter.add(requests=1)
        options: dict[str, Any] = {}
        if answer_format == "json_schema":
            schema = {"name": "answer", "strict": True, "schema": question.schema}
            options = {"response_format": {"type": answer_format, "json_schema": schema}}
        elif answer_format == "json_object":
            options = {"response_format": {"type": answer_format}}
        if question.tools:
            options["tools"] = list(question.tools)
        try:
            answer: ChatCompletion = self._client.chat.completions.create(
                model=self._model,
                messages=cast("Any", question.messages()),
                temperature=question.temperature,
                max_tokens=question.most_tokens,
                **options,
            )
        except ValueError:  # The JSON is invalid. The client's error contains the text, so it is dropped.
            raise self._unreadable() from None
        return answer

    def _read(self, completion: ChatCompletion, *, tools: bool) -> Answer:
        """The text of the first choice. Tool calls are only read with `tools`, and are never executed here."""
        usage = getattr(completion, "usage", None)
        read, written = (_count(getattr(usage, name, 0)) for name in ("prompt_tokens", "completion_tokens"))
        self.meter.add(tokens_in=read, tokens_out=written)
        choices = getattr(completion, "choices", None)
        if not isinstance(choices, list) or not choices:
            raise self._error(_("sent no answer."))
        message = getattr(choices[0], "message", None)
        content = getattr(message, "content", None)
        calls = _calls(getattr(message, "tool_calls", None)) if tools else ()
        if not isinstance(content, str) and not calls:
            raise BackendError("The model “{model}” sent no text.", self._model, permanent=False)
        text = content if isinstance(content, str) else ""
        return Answer(text, choices[0].finish_reason == "length", calls, read + written)

    def _verdict(self, error: openai.APIError) -> BackendError | None:
        """The error if a retry can't help, otherwise None."""
        if isinstance(error.__cause__, TooLong):
            return self._too_long()
        if not isinstance(error, openai.APIStatusError):
            return None if isinstance(error, openai.APIConnectionError) else self._unreadable()
        if _is_too_long(error):
            return BackendError("A piece of the note is too long for the model. Choose fewer words.", permanent=False)
        return self._refusal(error.status_code, _("has no model “{model}”, or its address is wrong.", self._model))

    def _unreadable(self) -> BackendError:
        return self._error(_("sent an unreadable answer."))

    def _gave_up(self, error: openai.APIError) -> BackendError:
        if isinstance(error, openai.APITimeoutError):
            return self._late()
        if isinstance(error, openai.APIStatusError):
            return self._error(_("failed {attempt} times ({status}).", TRIES, error.status_code))
        return self._silent()


def _calls(called: object) -> tuple[ToolCall, ...]:
    """The well-formed calls of functions in a message."""
    found: list[ToolCall] = []
    for each in called if isinstance(called, list) else []:
        function = getattr(each, "function", None)
        name, arguments = getattr(function, "name", None), getattr(function, "arguments", None)
        if isinstance(name, str) and isinstance(arguments, str):
            found.append(ToolCall(str(getattr(each, "id", "") or f"call-{len(found) + 1}"), name, arguments))
    return tuple(found)


def _count(value: object) -> int:
    """The number of tokens that a server reports; 0 if it is not a valid count."""
    return min(value, 10**9) if isinstance(value, int) and value > 0 else 0


def _is_too_long(error: openai.APIStatusError) -> bool:
    return error.status_code in (400, 413, 422) and (
        error.code == "context_length_exceeded"
        or "context length" in str(error.message).lower()
        or error.status_code == 413
    )


def _pause(error: openai.APIError, attempt: int) -> float:
    """Seconds to wait, at most LONGEST_WAIT: as the server asks, otherwise doubling. Random jitter spreads retries."""
    asked = _retry_after(error)
    base = asked if asked is not None else 2.0 ** (attempt - 1)
    jitter = random.uniform(0, base if asked is None else 1)  # noqa: S311 - no secret
    return min(base + jitter, LONGEST_WAIT)


def _retry_after(error: openai.APIError) -> float | None:
    """The Retry-After header in seconds, given as seconds or a date (RFC 9110, section 10.2.3)."""
    value = error.response.headers.get("retry-after", "") if isinstance(error, openai.APIStatusError) else ""
    with suppress(ValueError):
        return max(0.0, min(float(value), LONGEST_WAIT))
    with suppress(ValueError, TypeError):
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    return None
