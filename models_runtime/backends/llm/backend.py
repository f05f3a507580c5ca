"""A language model as a backend. Raises, for each note by itself, what went wrong with it."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final

from annotations.domain.spans import Span
from models_runtime.backends.base import BackendError, Budget, OnDevice
from models_runtime.backends.llm.asking import Completion, Meter
from models_runtime.backends.llm.chunks import chunks
from models_runtime.backends.llm.driver import Check, Room, Talk, go_on, hold
from models_runtime.backends.llm.kept import Answers, NoAnswers
from models_runtime.backends.llm.params import Params
from models_runtime.backends.llm.prompts import VERSION, LabelWord, digest, system_prompt
from models_runtime.backends.llm.reading import Found, Reader, settled
from models_runtime.backends.llm.servers import Server

# A note is rewritten as a whole up to so many words: what is longer no model gives back in one answer.
REWRITE_WORDS: Final = 2000


class LlmBackend:
    """Reads with a model of a listed server. `labels` are the project's: nothing else may be answered.

    `prompt` is what the model is told before each note; without one, that of today's files. `room`: what the server has
    free, where others ask it too. `meter`: where what is asked is counted.
    """

    name = "llm"

    def __init__(
        self,
        label_set: str,
        labels: Sequence[LabelWord],
        server: Server,
        params: Params,
        prompt: str = "",
        answers: Answers[Found] | None = None,
        completion: Completion | None = None,
        room: Room | None = None,
        meter: Meter | None = None,
    ) -> None:
        if not labels:
            raise BackendError("this project has no labels to look for", permanent=True)
        self.label_set = label_set
        self.labels = tuple(sorted(label.code for label in labels))
        self.meter = meter or Meter()
        self.prompt = prompt or system_prompt(params.strategy, params.language, labels)
        self._params = params
        self._room = room
        self._completion = completion or completion_of(server, params.model, self.meter)
        if isinstance(self._completion, OnDevice):  # in this process
            self.device = self._completion.device
        # A few rounds of requests: a worker that is lost takes little with it, and several share a run of few notes.
        self.budget = Budget(notes=4 * self._completion.at_once)
        asking = digest(VERSION, _CODE, server.name, params.model, self.prompt)
        shape = f"{params.omega}x{params.passes}" if params.strategy == "extract" else str(REWRITE_WORDS)
        self.revision = f"{VERSION}-{asking[:16]}-{params.strategy}-{shape}-{label_set}"[:120]
        self._reader = Reader(
            asking=asking,
            system=self.prompt,
            labels=_named(labels, tagged=params.strategy == "rewrite"),
            codes=self.labels,
            source=f"{params.model[-48:]} {params.language}{VERSION}",
            meter=self.meter,
            answers=NoAnswers() if answers is None else answers,
        )

    def predict(self, texts: Sequence[str]) -> list[list[Span]]:
        """The spans of each text. Raises the first error of any."""
        found = []
        for result in self.predict_each(texts):
            if isinstance(result, BackendError):
                raise result
            found.append(result)
        return found

    def predict_each(self, texts: Sequence[str], check: Check = go_on) -> list[list[Span] | BackendError]:
        """The spans of each text, or what went wrong with it. Raises BackendError where none would fare better."""
        talks: list[Talk[list[Span]]] = []
        counts = []
        for text in texts:
            mine = self._talks(text)
            counts.append(len(mine))
            talks += mine
        try:
            said = iter(hold(talks, self._completion, check, self._room))
        finally:
            self.meter.record()
        return [_joined(list(islice(said, count))) for count in counts]

    def stream(self, texts: Iterable[str]) -> Iterator[list[Span]]:
        """The spans of each text as it comes; a few texts are read at once."""
        given = iter(texts)
        while some := list(islice(given, 2 * self._completion.at_once)):
            yield from self.predict(some)

    def _talks(self, text: str) -> list[Talk[list[Span]]]:
        if self._params.strategy == "rewrite":
            return [self._reader.rewrite(text, *piece) for piece in chunks(text, REWRITE_WORDS)]
        return [self._reader.extract(text, *piece, self._params.passes) for piece in chunks(text, self._params.omega)]


def completion_of(server: Server, model: str, meter: Meter) -> Completion:
    """Who answers for a model of a listed server. Raises BackendError where a folder can't be loaded."""
    if server.folder:
        from models_runtime.backends.llm.local import LocalCompletion

        return LocalCompletion(server.folder, meter)
    from models_runtime.backends.llm.remote import RemoteCompletion

    return RemoteCompletion(server, model, meter)


def _named(labels: Sequence[LabelWord], *, tagged: bool) -> dict[str, str]:
    """What an answer may call each label, casefolded, to its code. Codes go first where names collide."""
    named: dict[str, str] = {}
    for label in labels:
        named.setdefault(f"[{label.code}]".casefold() if tagged else label.code.casefold(), label.code)
    for label in labels:
        for word in (label.placeholder, f"[{label.name}]") if tagged else (label.name, label.placeholder.strip("[]")):
            named.setdefault(word.casefold(), label.code)
    return {word: code for word, code in named.items() if word}


def _joined(pieces: list[list[Span] | BackendError]) -> list[Span] | BackendError:
    """A note's spans; a note of which one piece failed has failed: half a reading looks like a whole one."""
    spans: list[Span] = []
    for piece in pieces:
        if isinstance(piece, BackendError):
            return piece
        spans += piece
    return settled(spans)


def _code() -> str:
    """A hash of this package's code: any change of it may change what is found."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


# Taken when the code is loaded: files may change under a worker that still runs the old ones.
_CODE: Final = _code()
