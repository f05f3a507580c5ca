"""The language model backend. A failed note doesn't affect the other notes of a batch."""

import hashlib
import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeVar

from annotations.text.spans import Span, estimated
from models_runtime.backends import base
from models_runtime.backends.llm import driver, prompts
from models_runtime.backends.llm.asking import Answer, AskingOptions, Completion, Meter, Question
from models_runtime.backends.llm.evidence import shots_of
from models_runtime.backends.llm.extracting import ExtractionQuestions, chunks, overlapping, whole, without_overlaps
from models_runtime.backends.llm.rewriting import Placeholders, RewritingStrategy, joined
from models_runtime.backends.llm.servers import Params, Server

T = TypeVar("T")

# Words of a note that are rewritten at once. Models can't return longer texts in one answer.
REWRITE_WORDS: Final = 2000
TOGETHER: Final = 32
"""The most texts in a question: models overlook more in long lists."""
ANSWER: Final = 1024
"""Tokens of an answer besides those for the text (asking.AskingOptions)."""
FENCE: Final = 32
"""Tokens around each text of a question with several."""


class LlmBackend(base.PredictsEach):
    """Predicts with a model of a listed server. `labels`: the project's labels, the only allowed answers.

    `prompt`: the system message, or with the strategy *by_label* the template of the messages (prompts.prompt_of_run);
    by default, it is made from the present prompt files. `mapping`: labels for the
    placeholders of a rewritten note that are not a label's (rewriting.Placeholders). `sample`: names this run; answers
    sampled at a temperature above 0 are only cached for a run of the same name. `capacity`: the server's capacity, if
    workers share it. `meter`: counts requests and tokens.

    With the strategy *rewrite*, `predict_each` returns Rewritten instead of spans.
    """

    name = "llm"

    def __init__(
        self,
        label_set: str,
        labels: Sequence[prompts.LabelWord],
        server: Server,
        params: Params,
        prompt: str = "",
        answers: driver.AnswerCache[driver.Found] | None = None,
        texts: driver.AnswerCache[str] | None = None,
        mapping: Mapping[str, str] | None = None,
        sample: str = "",
        completion: Completion | None = None,
        capacity: driver.Capacity | None = None,
        meter: Meter | None = None,
    ) -> None:
        if not labels:
            raise base.BackendError("This project has no labels. Add labels first.")
        self.label_set = label_set
        self.labels = tuple(sorted(label.code for label in labels))
        self.meter = meter or Meter()
        lines = prompts.version_of(params.template) == prompts.LINES
        shots = shots_of(params.language, labels, label_set) if params.examples or lines else []
        self.prompt = prompt or prompts.prompt_of_run(
            params.strategy, params.language, labels, params.template, descriptions=params.descriptions, shots=shots
        )
        self._params = params
        self._capacity = capacity
        self._completion = completion or completion_of(server, params.model, self.meter)
        if isinstance(self._completion, base.OnDevice):  # The model runs in this process.
            self.device = self._completion.device
        # Small batches: little work is lost with a worker, and several workers can share a run of few notes.
        self._together = params.strategy == "extract" and params.context > 0 and not (lines or params.every_pass)
        each = 1 if params.strategy == prompts.BY_LABEL else TOGETHER if self._together else 4
        self.budget = base.Budget(notes=each * self._completion.at_once)
        messages = _messages(params, labels, self.prompt, shots)
        settings = [prompts.VERSION, _CODE, server.name, params.model, repr(params.temperature), str(params.tokens)]
        made_of = prompts.digest(
            *settings, *(message for message, _labels in messages), json.dumps(sorted((mapping or {}).items()))
        )
        shape = str(REWRITE_WORDS) if params.strategy == "rewrite" else _shape(params)
        self.revision = f"{prompts.VERSION}-{made_of[:16]}-{params.strategy}-{shape}-{label_set}"[:120]
        asking = [
            AskingOptions(
                key=prompts.digest(*settings, message, sample if params.temperature else ""),
                temperature=params.temperature,
                most_tokens=params.tokens,
            )
            for message, _labels in messages
        ]
        source = f"{params.model[-48:]} {params.language}{prompts.version_of(params.template)}"
        found: driver.AnswerCache[driver.Found] = driver.NoCache() if answers is None else answers
        self._extracting = [
            ExtractionQuestions(
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
        self._rewriting = RewritingStrategy(
            asking=asking[0],
            system=self.prompt,
            confirm=prompts.system_prompt("confirm", params.language, labels, descriptions=params.descriptions),
            placeholders=Placeholders(labels, label_set, mapping or {}),
            source=source,
            meter=self.meter,
            texts=driver.NoCache() if texts is None else texts,
            answers=found,
        )

    def predict_each(
        self, texts: Sequence[str], check: driver.Check = driver.no_check
    ) -> list[list[Span] | base.RewrittenText | base.BackendError]:
        """The spans of each text, or its error. Raises BackendError if every text would fail."""
        if self._params.strategy == "rewrite":
            return self._rewritten_each(texts, check)
        if self._together:
            return self._together_each(texts, check)
        return self._extracted_each(texts, check)

    def _together_each(
        self, texts: Sequence[str], check: driver.Check
    ) -> list[list[Span] | base.RewrittenText | base.BackendError]:
        """Short texts are put together in questions, in order; each of the others is asked about alone."""
        groups = grouped(texts, self._params, self.prompt)
        (asking,) = self._extracting
        results = self._results(
            [
                asking.extract_together([texts[at] for at in group], self._params.passes, self._params.language)
                for group in groups
            ],
            check,
        )
        found: dict[int, list[Span] | base.RewrittenText | base.BackendError] = {}
        for group, result in zip(groups, results, strict=True):
            for number, at in enumerate(group):
                found[at] = result if isinstance(result, base.BackendError) else result[number]
        alone = [at for at in range(len(texts)) if at not in found]
        found |= zip(alone, self._extracted_each([texts[at] for at in alone], check), strict=True)
        return [found[at] for at in range(len(texts))]

    def _extracted_each(
        self, texts: Sequence[str], check: driver.Check
    ) -> list[list[Span] | base.RewrittenText | base.BackendError]:
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
        by_piece = [[_joined(islice(results, asked), _merged) for _part in parts] for parts in pieces]
        return [_joined(found, partial(whole, parts)) for parts, found in zip(pieces, by_piece, strict=True)]

    def _rewritten_each(
        self, texts: Sequence[str], check: driver.Check
    ) -> list[list[Span] | base.RewrittenText | base.BackendError]:
        # Pieces must not overlap, because the rewritten note is made of them.
        pieces = [chunks(text, REWRITE_WORDS, overlap=0) for text in texts]
        rewrite = self._rewriting.rewrite
        results = self._results(
            [rewrite(text, *piece) for text, parts in zip(texts, pieces, strict=True) for piece in parts], check
        )
        return [
            _joined(islice(results, len(parts)), partial(joined, text, parts))
            for text, parts in zip(texts, pieces, strict=True)
        ]

    def _results(
        self, conversations: list[driver.Conversation[T]], check: driver.Check
    ) -> Iterator[T | base.BackendError]:
        try:
            return iter(driver.run_all(conversations, self._completion, check, self._capacity))
        finally:
            self.meter.record()


def completion_of(server: Server, model: str, meter: Meter) -> Completion:
    """The Completion for a model of a listed server. Raises BackendError if a folder can't be loaded."""
    if server.folder:
        return LocalCompletion(server.folder, meter)
    from models_runtime.backends.llm.remote import RemoteCompletion

    return RemoteCompletion(server, model, meter)


def _messages(
    params: Params, labels: Sequence[prompts.LabelWord], prompt: str, shots: Sequence[prompts.Shot]
) -> list[tuple[str, list[prompts.LabelWord]]]:
    """Each system message of a run, with the labels that its answers may have."""
    if params.strategy != prompts.BY_LABEL:
        return [(prompt, list(labels))]
    return [
        (
            prompts.system_prompt(
                prompts.BY_LABEL, params.language, [one], prompt, descriptions=params.descriptions, shots=shots
            ),
            [one],
        )
        for one in sorted(labels, key=lambda label: label.code)
    ]


def _named(labels: Sequence[prompts.LabelWord]) -> dict[str, str]:
    """The code for each casefolded name that an answer may use for a label. Codes take precedence over names."""
    named: dict[str, str] = {}
    for label in labels:
        named.setdefault(label.code.casefold(), label.code)
    for label in labels:
        for word in (label.name, label.placeholder.strip("[]")):
            named.setdefault(word.casefold(), label.code)
    return {word: code for word, code in named.items() if word}


def grouped(texts: Sequence[str], params: Params, system: str) -> list[list[int]]:
    """The places of texts that one question can have together, by the tokens of the model's context.

    The system message, the texts and the longest answer must fit. Only texts of one chunk are put together, at most
    TOGETHER of them.
    """
    groups: list[list[int]] = []
    room = params.context - estimated(len(system)) - (params.tokens or ANSWER)
    left = 0
    for at, text in enumerate(texts):
        needed = estimated(len(text)) + FENCE + (0 if params.tokens else len(text))
        if needed > room or len(chunks(text, params.omega)) != 1:
            continue
        if not groups or needed > left or len(groups[-1]) >= TOGETHER:
            groups.append([])
            left = room
        groups[-1].append(at)
        left -= needed
    return [group for group in groups if len(group) > 1]


def _shape(params: Params) -> str:
    """The part of the revision that tells how notes are extracted."""
    overlap = f"-{params.overlap}" if params.overlap else ""
    together = f"-c{params.context}" if params.context else ""
    return f"{params.omega}{overlap}x{params.passes}{'-every' if params.every_pass else ''}{together}"


def _joined(results: Iterable[Any], join: Callable[[Sequence[Any]], T]) -> T | base.BackendError:
    """What `join` makes of all results. If one failed, the whole failed: partial results would look complete."""
    every = list(results)
    failed = next((result for result in every if isinstance(result, base.BackendError)), None)
    return failed or join([result for result in every if not isinstance(result, base.BackendError)])


def _merged(found: Sequence[list[Span]]) -> list[Span]:
    """The spans of a piece from the answers to its questions. Overlapping spans of different labels all stay."""
    return without_overlaps(span for spans in found for span in spans)


def _code() -> str:
    """A hash of this package's code, since any change to it can change the output."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


# Computed at import time: files can change on disk while a worker still runs the old code.
_CODE: Final = _code()


# A language model in this process, from a folder: safetensors weights only, no code from the folder.


class LocalCompletion:
    """The model in `folder`. Raises BackendError (permanent) if it can't be loaded."""

    at_once = 1

    def __init__(self, folder: str, meter: Meter) -> None:
        self._meter = meter
        self._over = threading.Event()
        self._lock = threading.Lock()
        if not Path(folder).is_dir():
            raise base.BackendError("The model's folder is missing on this worker. Add the folder.")
        try:
            self._load(folder)
        except ImportError as error:
            raise base.not_installed(error) from None
        except (OSError, ValueError, KeyError, RuntimeError) as error:
            raise base.BackendError(
                "The model's folder can't be loaded ({error}). It must contain a transformers language model "
                "with safetensors weights, and its tokenizer.",
                type(error).__name__,
            ) from None

    def _load(self, folder: str) -> None:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        from models_runtime.backends.neural.device import Placement, choose_device

        self._torch: Any = torch
        device = choose_device()
        safe: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
        self._tokenizer: Any = AutoTokenizer.from_pretrained(folder, **safe)
        # bf16 halves the memory on any GPU, even if the GPU only emulates it.
        dtype = torch.bfloat16 if device.is_gpu else torch.float32
        model: Any = AutoModelForCausalLM.from_pretrained(folder, use_safetensors=True, dtype=dtype, **safe)
        self._model = model.eval()
        self._seat = Placement(device, self._model)
        if not self._seat.device.is_gpu:  # the model may not have fitted into the GPU memory
            self._model.float()

    @property
    def device(self) -> base.Device:
        """The device that the model computes on."""
        return self._seat.device

    def stop(self) -> None:
        """Stop after the present token."""
        self._over.set()

    def complete(self, question: Question) -> Answer:
        """The most likely continuation, or one drawn at the question's temperature.

        Raises BackendError for a question that is too long.
        """
        if question.tools:
            return Answer("", no_tools=True)
        try:
            return self._completed(question)
        except self._torch.OutOfMemoryError:
            self._torch.cuda.empty_cache()
            raise base.BackendError(
                "The GPU memory is full. Choose fewer words, or stop other programs that use the GPU.", permanent=False
            ) from None

    def _completed(self, question: Question) -> Answer:
        with self._lock, self._torch.inference_mode():
            ids = self._ids(question)
            length = ids.shape[1]
            most = int(getattr(self._model.config, "max_position_embeddings", 0) or 10**9)
            room = min(question.most_tokens, most - length)
            if room < 1:
                raise base.BackendError(
                    "A piece of the note is too long for the model. Choose fewer words.", permanent=False
                )
            made = self._model.generate(
                ids,
                attention_mask=self._torch.ones_like(ids),
                max_new_tokens=room,
                **_sampling(question.temperature),
                stopping_criteria=[lambda ids, scores, **more: self._over.is_set()],
                pad_token_id=self._tokenizer.eos_token_id,
            )[0, length:]
        if self._over.is_set():
            raise base.BackendError("The model was stopped in the middle of its answer.", permanent=False)
        self._meter.add(requests=1, tokens_in=int(length), tokens_out=len(made))
        text = self._tokenizer.decode(made, skip_special_tokens=True)
        cut = len(made) >= room and int(made[-1]) != self._tokenizer.eos_token_id
        return Answer(str(text), cut=cut, tokens=int(length) + len(made))

    def _ids(self, question: Question) -> Any:
        if self._tokenizer.chat_template:
            text = self._tokenizer.apply_chat_template(question.messages(), add_generation_prompt=True, tokenize=False)
            found = self._tokenizer(text, return_tensors="pt", add_special_tokens=False)
        else:
            found = self._tokenizer(
                "".join(f"{each['content']}\n\n" for each in question.messages()), return_tensors="pt"
            )
        return found["input_ids"].to(self._model.device)


def _sampling(temperature: float) -> dict[str, Any]:
    """The options of `generate` for a temperature; at 0, the most likely token always follows."""
    return {"do_sample": True, "temperature": temperature} if temperature else {"do_sample": False}
