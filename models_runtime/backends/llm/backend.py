"""The language model backend. A failed note doesn't affect the other notes of a batch."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from annotations.domain.spans import Span
from models_runtime.backends.base import BackendError, Budget, OnDevice
from models_runtime.backends.llm.asking import Completion, Meter
from models_runtime.backends.llm.cache import AnswerCache, NoCache
from models_runtime.backends.llm.chunks import chunks
from models_runtime.backends.llm.driver import Capacity, Check, Conversation, no_check, run_all
from models_runtime.backends.llm.params import Params
from models_runtime.backends.llm.prompts import VERSION, LabelWord, digest, system_prompt
from models_runtime.backends.llm.servers import Server
from models_runtime.backends.llm.strategies import Found, Strategies, without_overlaps

# Words of a note that are rewritten at once. Models can't return longer texts in one answer.
REWRITE_WORDS: Final = 2000


class LlmBackend:
    """Predicts with a model of a listed server. `labels`: the project's labels, the only allowed answers.

    `prompt`: the system message; by default, it is made from the present prompt files. `capacity`: the server's
    capacity, if workers share it. `meter`: counts requests and tokens.
    """

    name = "llm"

    def __init__(
        self,
        label_set: str,
        labels: Sequence[LabelWord],
        server: Server,
        params: Params,
        prompt: str = "",
        answers: AnswerCache[Found] | None = None,
        completion: Completion | None = None,
        capacity: Capacity | None = None,
        meter: Meter | None = None,
    ) -> None:
        if not labels:
            raise BackendError("This project has no labels. Add labels first.", permanent=True)
        self.label_set = label_set
        self.labels = tuple(sorted(label.code for label in labels))
        self.meter = meter or Meter()
        self.prompt = prompt or system_prompt(params.strategy, params.language, labels)
        self._params = params
        self._capacity = capacity
        self._completion = completion or completion_of(server, params.model, self.meter)
        if isinstance(self._completion, OnDevice):  # The model runs in this process.
            self.device = self._completion.device
        # Small batches: little work is lost with a worker, and several workers can share a run of few notes.
        self.budget = Budget(notes=4 * self._completion.at_once)
        asking = digest(VERSION, _CODE, server.name, params.model, self.prompt)
        shape = f"{params.omega}x{params.passes}" if params.strategy == "extract" else str(REWRITE_WORDS)
        self.revision = f"{VERSION}-{asking[:16]}-{params.strategy}-{shape}-{label_set}"[:120]
        self._strategies = Strategies(
            asking=asking,
            system=self.prompt,
            labels=_named(labels, tagged=params.strategy == "rewrite"),
            codes=self.labels,
            source=f"{params.model[-48:]} {params.language}{VERSION}",
            meter=self.meter,
            answers=NoCache() if answers is None else answers,
        )

    def predict(self, texts: Sequence[str]) -> list[list[Span]]:
        """The spans of each text. Raises the first error, if any."""
        found = []
        for result in self.predict_each(texts):
            if isinstance(result, BackendError):
                raise result
            found.append(result)
        return found

    def predict_each(self, texts: Sequence[str], check: Check = no_check) -> list[list[Span] | BackendError]:
        """The spans of each text, or its error. Raises BackendError if every text would fail."""
        conversations: list[Conversation[list[Span]]] = []
        counts = []
        for text in texts:
            of_text = self._conversations(text)
            counts.append(len(of_text))
            conversations += of_text
        try:
            results = iter(run_all(conversations, self._completion, check, self._capacity))
        finally:
            self.meter.record()
        return [_joined(list(islice(results, count))) for count in counts]

    def stream(self, texts: Iterable[str]) -> Iterator[list[Span]]:
        """The spans of each text, in order; a few texts at a time."""
        remaining = iter(texts)
        while some := list(islice(remaining, 2 * self._completion.at_once)):
            yield from self.predict(some)

    def _conversations(self, text: str) -> list[Conversation[list[Span]]]:
        if self._params.strategy == "rewrite":
            return [self._strategies.rewrite(text, *piece) for piece in chunks(text, REWRITE_WORDS)]
        return [
            self._strategies.extract(text, *piece, self._params.passes) for piece in chunks(text, self._params.omega)
        ]


def completion_of(server: Server, model: str, meter: Meter) -> Completion:
    """The Completion for a model of a listed server. Raises BackendError if a folder can't be loaded."""
    if server.folder:
        from models_runtime.backends.llm.local import LocalCompletion

        return LocalCompletion(server.folder, meter)
    from models_runtime.backends.llm.remote import RemoteCompletion

    return RemoteCompletion(server, model, meter)


def _named(labels: Sequence[LabelWord], *, tagged: bool) -> dict[str, str]:
    """The code for each casefolded name that an answer may use for a label. Codes take precedence over names."""
    named: dict[str, str] = {}
    for label in labels:
        named.setdefault(f"[{label.code}]".casefold() if tagged else label.code.casefold(), label.code)
    for label in labels:
        for word in (label.placeholder, f"[{label.name}]") if tagged else (label.name, label.placeholder.strip("[]")):
            named.setdefault(word.casefold(), label.code)
    return {word: code for word, code in named.items() if word}


def _joined(pieces: list[list[Span] | BackendError]) -> list[Span] | BackendError:
    """The spans of a note. If one piece failed, the note failed: partial results would look complete."""
    spans: list[Span] = []
    for piece in pieces:
        if isinstance(piece, BackendError):
            return piece
        spans += piece
    return without_overlaps(spans)


def _code() -> str:
    """A hash of this package's code, since any change to it can change the output."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


# Computed at import time: files can change on disk while a worker still runs the old code.
_CODE: Final = _code()
