"""Questions to a language model and its answers, for a server and for a model in this process."""

import json
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

# Tokens that an answer may need: per character of the text that was sent, and in addition.
_TOKENS_A_CHARACTER: Final = 1.0
_TOKENS_OVERHEAD: Final = 1024
# End of a reasoning model's thoughts; the answer follows.
THOUGHT: Final = "</think>"


@dataclass(frozen=True)
class Question:
    """A system and a user message. `schema`: JSON schema of the answer, None for plain text.

    `more`: the messages after these two, in the form of chat completions. `tools`: functions that the model may call,
    in the same form; only a refining agent has them.
    """

    system: str
    user: str
    most_tokens: int
    schema: dict[str, Any] | None = None
    temperature: float = 0.0
    more: tuple[Mapping[str, Any], ...] = ()
    tools: tuple[Mapping[str, Any], ...] = ()

    def messages(self) -> list[Mapping[str, Any]]:
        """All messages in the form of chat completions."""
        return [{"role": "system", "content": self.system}, {"role": "user", "content": self.user}, *self.more]


@dataclass(frozen=True)
class AskingOptions:
    """How a run asks. `key`: hash of server, model, prompt and settings. `most_tokens`: 0 for as many as needed."""

    key: str
    temperature: float = 0.0
    most_tokens: int = 0

    def question(self, system: str, user: str, length: int, schema: dict[str, Any] | None = None) -> Question:
        """A question about `length` characters."""
        most = self.most_tokens or int(length * _TOKENS_A_CHARACTER) + _TOKENS_OVERHEAD
        return Question(system, user, most, schema, self.temperature)


@dataclass(frozen=True)
class ToolCall:
    """A call of a tool that the model asks for. `arguments`: JSON as the model wrote it, checked by nobody yet."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True)
class Answer:
    """An answer. `cut`: it was cut off because it was too long. `tokens`: those of question and answer together.

    `calls`: the tools that the model calls; nothing here executes them. `no_tools`: the model can't call tools, and
    didn't answer the question.
    """

    text: str
    cut: bool = False
    calls: tuple[ToolCall, ...] = ()
    tokens: int = 0
    no_tools: bool = False


class Completion(Protocol):
    """Answers questions. Raises BackendError, permanent if all other questions would fail too."""

    @property
    def at_once(self) -> int:
        """The number of threads that may ask at the same time."""

    def complete(self, question: Question) -> Answer: ...

    def stop(self) -> None:
        """Stop for good, in all threads: questions that wait for another try fail."""


class Meter:
    """Counts requests, tokens, and problems with answers. Thread-safe. These counts are lost with the process."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def add(self, **counts: int) -> None:
        with self._lock:
            self._counts.update({name: count for name, count in counts.items() if count})

    def take(self) -> dict[str, int]:
        """The counts since the last call, which are reset."""
        with self._lock:
            counts, self._counts = self._counts, Counter()
        return dict(counts)

    def record(self) -> None:
        """Store the counts, if they should outlive the process. Only called in the conversations' own thread.

        It is called for every answer.
        """


class StoredMeter(Meter, ABC):
    """A meter whose counts outlive the process."""

    def record(self) -> None:
        """Store the counts. If that fails, keep them for the next call."""
        if counts := self.take():
            try:
                self.store(counts)
            except BaseException:
                self.add(**counts)
                raise

    @abstractmethod
    def store(self, counts: dict[str, int]) -> None:
        """Add the counts to those that are stored."""


# JSON in the answers of language models: strict schemas, and the objects of an answer.
#
# Imports no library, because the web process loads modules that use it.


_DECODER: Final = json.JSONDecoder()


def object_schema(properties: Mapping[str, Any]) -> dict[str, Any]:
    """A strict JSON schema of an object: all properties are required, and no others are allowed."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def list_schema(key: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    """A strict JSON schema of an object whose only property `key` is a list of objects with these properties."""
    return object_schema({key: {"type": "array", "items": object_schema(properties)}})


def objects_in(answer: str) -> Iterator[Any]:
    """The JSON objects of an answer after a reasoning model's thoughts. The answer may be fenced or have other text."""
    at = answer.find("{", max(answer.rfind(THOUGHT), 0))
    while at >= 0:
        try:
            found = _DECODER.raw_decode(answer, at)[0]
        except (ValueError, RecursionError):
            pass
        else:
            yield found
        at = answer.find("{", at + 1)
