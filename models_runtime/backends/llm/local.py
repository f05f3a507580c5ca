"""A model in this process, through transformers: from a folder, safetensors only, none of the folder's code run."""

import threading
from pathlib import Path
from typing import Any

from models_runtime.backends.base import BackendError, Place, not_installed
from models_runtime.backends.llm.asking import Answer, Meter, Question


class LocalCompletion:
    """The model in `folder`. Raises BackendError (permanent) where there is none that can be loaded."""

    at_once = 1

    def __init__(self, folder: str, meter: Meter) -> None:
        self._meter = meter
        self._over = threading.Event()
        self._lock = threading.Lock()
        if not Path(folder).is_dir():
            raise BackendError("the model's folder is not on this worker's machine", permanent=True)
        try:
            self._load(folder)
        except ImportError as error:
            raise not_installed(error) from None
        except (OSError, ValueError, KeyError, RuntimeError) as error:
            raise BackendError(
                f"the model's folder can't be loaded ({type(error).__name__}): it takes a transformers model for text, "
                "its weights as safetensors, and its tokenizer",
                permanent=True,
            ) from None

    def _load(self, folder: str) -> None:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        from models_runtime.backends.neural.device import Seat, chosen

        self._torch: Any = torch
        device = chosen()
        safe: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
        self._tokenizer: Any = AutoTokenizer.from_pretrained(folder, **safe)
        # In half the memory on any GPU, also on one that only emulates bf16.
        dtype = torch.bfloat16 if device.is_gpu else torch.float32
        model: Any = AutoModelForCausalLM.from_pretrained(folder, use_safetensors=True, dtype=dtype, **safe)
        self._model = model.eval()
        self._seat = Seat(device, self._model)
        if not self._seat.device.is_gpu:  # it may have found no room on one
            self._model.float()

    @property
    def device(self) -> Place:
        """Where it computes."""
        return self._seat.device

    def stop(self) -> None:
        """After the token that is being made."""
        self._over.set()

    def complete(self, question: Question) -> Answer:
        """The likeliest continuation, token by token. Raises BackendError where the question is too long."""
        try:
            return self._completed(question)
        except self._torch.OutOfMemoryError:
            self._torch.cuda.empty_cache()
            raise BackendError(
                "the GPU's memory is full; choose fewer words, or stop what else uses it", permanent=False
            ) from None

    def _completed(self, question: Question) -> Answer:
        with self._lock, self._torch.inference_mode():
            ids = self._ids(question)
            length = ids.shape[1]
            most = int(getattr(self._model.config, "max_position_embeddings", 0) or 10**9)
            room = min(question.most_tokens, most - length)
            if room < 1:
                raise BackendError(
                    "a piece of the note is longer than the model takes; choose fewer words", permanent=False
                )
            made = self._model.generate(
                ids,
                attention_mask=self._torch.ones_like(ids),
                max_new_tokens=room,
                do_sample=False,
                stopping_criteria=[lambda ids, scores, **more: self._over.is_set()],
                pad_token_id=self._tokenizer.eos_token_id,
            )[0, length:]
        if self._over.is_set():
            raise BackendError("the model was stopped in the middle of its answer", permanent=False)
        self._meter.add(requests=1, tokens_in=int(length), tokens_out=len(made))
        text = self._tokenizer.decode(made, skip_special_tokens=True)
        return Answer(str(text), cut=len(made) >= room and int(made[-1]) != self._tokenizer.eos_token_id)

    def _ids(self, question: Question) -> Any:
        if self._tokenizer.chat_template:
            text = self._tokenizer.apply_chat_template(
                [{"role": "system", "content": question.system}, {"role": "user", "content": question.user}],
                add_generation_prompt=True,
                tokenize=False,
            )
            found = self._tokenizer(text, return_tensors="pt", add_special_tokens=False)
        else:
            found = self._tokenizer(f"{question.system}\n\n{question.user}\n\n", return_tensors="pt")
        return found["input_ids"].to(self._model.device)
