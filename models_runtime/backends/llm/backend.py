"""The language model backend. A failed note doesn't affect the other notes of a batch."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, TypeVar

from annotations.text.spans import Bounds, Span
from models_runtime.backends.base import BackendError, Budget, OnDevice, Rewritten
from models_runtime.backends.llm.asking import Asking, Completion, Meter
from models_runtime.backends.llm.cache import AnswerCache, Found, NoCache
from models_runtime.backends.llm.chunks import chunks, overlapping
from models_runtime.backends.llm.driver import Capacity, Check, Conversation, no_check, run_all
from models_runtime.backends.llm.extracting import Extracting, whole, without_overlaps
from models_runtime.backends.llm.params import Params
from models_runtime.backends.llm.prompts import (
    BY_LABEL,
    LINES,
    VERSION,
    LabelWord,
    Shot,
    digest,
    prompt_of_run,
    system_prompt,
    version_of,
)
from models_runtime.backends.llm.rewriting import Placeholders, Rewriting, joined
from models_runtime.backends.llm.servers import Server
from models_runtime.backends.llm.shots import shots_of

T = TypeVar("T")

# Words of a note that are rewritten at once. Models can't return longer texts in one answer.
REWRITE_WORDS: Final = 2000


class LlmBackend:
    """Predicts with a model of a listed server. `labels`: the project's labels, the only allowed answers.

    `prompt`: the system message, or with the strategy *by_label* the template of the messages (prompts.prompt_of_run);
    by default, it is made from the present prompt files. `mapping`: labels for the
    placeholders of a rewritten note that are no label's (rewriting.Placeholders). `sample`: names this run; answers
    sampled at a temperature above 0 are only cached for a run of the same name. `capacity`: the server's capacity, if
    workers share it. `meter`: counts requests and tokens.

    With the strategy *rewrite*, `predict_each` returns Rewritten instead of spans.
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
        texts: AnswerCache[str] | None = None,
        mapping: Mapping[str, str] | None = None,
        sample: str = "",
        completion: Completion | None = None,
        capacity: Capacity | None = None,
        meter: Meter | None = None,
    ) -> None:
        if not labels:
            raise BackendError("This project has no labels. Add labels first.", permanent=True)
        self.label_set = label_set
        self.labels = tuple(sorted(label.code for label in labels))
        self.meter = meter or Meter()
        lines = version_of(params.template) == LINES
        shots = shots_of(params.language, labels, label_set) if params.examples or lines else []
        self.prompt = prompt or prompt_of_run(
            params.strategy, params.language, labels, params.template, descriptions=params.descriptions, shots=shots
        )
        self._params = params
        self._capacity = capacity
        self._completion = completion or completion_of(server, params.model, self.meter)
        if isinstance(self._completion, OnDevice):  # The model runs in this process.
            self.device = self._completion.device
        # Small batches: little work is lost with a worker, and several workers can share a run of few notes.
        self.budget = Budget(notes=(1 if params.strategy == BY_LABEL else 4) * self._completion.at_once)
        messages = _messages(params, labels, self.prompt, shots)
        settings = [VERSION, _CODE, server.name, params.model, repr(params.temperature), str(params.tokens)]
        made_of = digest(
            *settings, *(message for message, _labels in messages), json.dumps(sorted((mapping or {}).items()))
        )
        shape = str(REWRITE_WORDS) if params.strategy == "rewrite" else _shape(params)
        self.revision = f"{VERSION}-{made_of[:16]}-{params.strategy}-{shape}-{label_set}"[:120]
        asking = [
            Asking(
                key=digest(*settings, message, sample if params.temperature else ""),
                temperature=params.temperature,
                most_tokens=params.tokens,
            )
            for message, _labels in messages
        ]
        source = f"{params.model[-48:]} {params.language}{version_of(params.template)}"
        found: AnswerCache[Found] = NoCache() if answers is None else answers
        self._extracting = [
            Extracting(
                asking=own,
                system=message,
                labels=_named(allowed),
                codes=sorted(label.code for label in allowed),
                source=source,
                meter=self.meter,
                answers=found,
                lines=lines,
            )
            for own, (message, allowed) in zip(asking, messages, strict=True)
        ]
        self._rewriting = Rewriting(
            asking=asking[0],
            system=self.prompt,
            confirm=system_prompt("confirm", params.language, labels, descriptions=params.descriptions),
            placeholders=Placeholders(labels, label_set, mapping or {}),
            source=source,
            meter=self.meter,
            texts=NoCache() if texts is None else texts,
            answers=found,
        )

    def predict(self, texts: Sequence[str]) -> list[list[Span]]:
        """The spans of each text. Raises the first error, if any."""
        found = []
        for result in self.predict_each(texts):
            if isinstance(result, BackendError):
                raise result
            if isinstance(result, Rewritten):
                if result.error:
                    raise BackendError(result.error, permanent=False)
                result = result.spans
            found.append(result)
        return found

    def predict_each(
        self, texts: Sequence[str], check: Check = no_check
    ) -> list[list[Span] | Rewritten | BackendError]:
        """The spans of each text, or its error. Raises BackendError if every text would fail."""
        if self._params.strategy == "rewrite":
            return [*self._rewritten_each(texts, check)]
        params = self._params
        pieces = [
            overlapping(text, params.omega, params.overlap) if params.overlap else chunks(text, params.omega)
            for text in texts
        ]
        results = self._results(
            [
                one.extract(text, *piece, passes=params.passes, every_pass=params.every_pass)
                for text, parts in zip(texts, pieces, strict=True)
                for piece in parts
                for one in self._extracting
            ],
            check,
        )
        asked = len(self._extracting)
        return [_joined(parts, [_merged(list(islice(results, asked))) for _part in parts]) for parts in pieces]

    def _rewritten_each(self, texts: Sequence[str], check: Check) -> Iterator[Rewritten | BackendError]:
        # Pieces must not overlap, because the rewritten note is made of them.
        pieces = [chunks(text, REWRITE_WORDS, overlap=0) for text in texts]
        rewrite = self._rewriting.rewrite
        results = self._results(
            [rewrite(text, *piece) for text, parts in zip(texts, pieces, strict=True) for piece in parts], check
        )
        for text, parts in zip(texts, pieces, strict=True):
            rewritten: list[Rewritten] = []
            failed: list[BackendError] = []
            for result in islice(results, len(parts)):
                if isinstance(result, BackendError):
                    failed.append(result)
                else:
                    rewritten.append(result)
            yield failed[0] if failed else joined(text, parts, rewritten)

    def _results(self, conversations: list[Conversation[T]], check: Check) -> Iterator[T | BackendError]:
        try:
            return iter(run_all(conversations, self._completion, check, self._capacity))
        finally:
            self.meter.record()

    def stream(self, texts: Iterable[str]) -> Iterator[list[Span]]:
        """The spans of each text, in order; a few texts at a time."""
        remaining = iter(texts)
        while some := list(islice(remaining, 2 * self._completion.at_once)):
            yield from self.predict(some)


def completion_of(server: Server, model: str, meter: Meter) -> Completion:
    """The Completion for a model of a listed server. Raises BackendError if a folder can't be loaded."""
    if server.folder:
        from models_runtime.backends.llm.local import LocalCompletion

        return LocalCompletion(server.folder, meter)
    from models_runtime.backends.llm.remote import RemoteCompletion

    return RemoteCompletion(server, model, meter)


def _messages(
    params: Params, labels: Sequence[LabelWord], prompt: str, shots: Sequence[Shot]
) -> list[tuple[str, list[LabelWord]]]:
    """Each system message of a run, with the labels that its answers may have."""
    if params.strategy != BY_LABEL:
        return [(prompt, list(labels))]
    return [
        (
            system_prompt(BY_LABEL, params.language, [one], prompt, descriptions=params.descriptions, shots=shots),
            [one],
        )
        for one in sorted(labels, key=lambda label: label.code)
    ]


def _named(labels: Sequence[LabelWord]) -> dict[str, str]:
    """The code for each casefolded name that an answer may use for a label. Codes take precedence over names."""
    named: dict[str, str] = {}
    for label in labels:
        named.setdefault(label.code.casefold(), label.code)
    for label in labels:
        for word in (label.name, label.placeholder.strip("[]")):
            named.setdefault(word.casefold(), label.code)
    return {word: code for word, code in named.items() if word}


def _shape(params: Params) -> str:
    """The part of the revision that tells how notes are extracted."""
    overlap = f"-{params.overlap}" if params.overlap else ""
    return f"{params.omega}{overlap}x{params.passes}{'-every' if params.every_pass else ''}"


def _joined(pieces: Sequence[Bounds], results: Sequence[list[Span] | BackendError]) -> list[Span] | BackendError:
    """The spans of a note. If one piece failed, the note failed: partial results would look complete."""
    found = _all_or_error(results)
    return found if isinstance(found, BackendError) else whole(pieces, found)


def _merged(results: Sequence[list[Span] | BackendError]) -> list[Span] | BackendError:
    """The spans of a piece from the answers to its questions. Overlapping spans of different labels all stay.

    If one question failed, the piece failed.
    """
    found = _all_or_error(results)
    return found if isinstance(found, BackendError) else without_overlaps(span for spans in found for span in spans)


def _all_or_error(results: Sequence[list[Span] | BackendError]) -> list[list[Span]] | BackendError:
    found: list[list[Span]] = []
    for result in results:
        if isinstance(result, BackendError):
            return result
        found.append(result)
    return found


def _code() -> str:
    """A hash of this package's code, since any change to it can change the output."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


# Computed at import time: files can change on disk while a worker still runs the old code.
_CODE: Final = _code()
