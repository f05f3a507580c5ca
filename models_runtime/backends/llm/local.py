"""A language model in this process, from a folder: safetensors weights only, no code from the folder."""

import threading
from pathlib import Path
from typing import Any

from models_runtime.backends.base import BackendError, Device, not_installed
from models_runtime.backends.llm.asking import Answer, Meter, Question


class LocalCompletion:
    """The model in `folder`. Raises BackendError (permanent) if it can't be loaded."""

    at_once = 1

    def __init__(self, folder: str, meter: Meter) -> None:
        self._meter = meter
        self._over = threading.Event()
        self._lock = threading.Lock()
        if not Path(folder).is_dir():
            raise BackendError("The model's folder is missing on this worker. Add the folder.", permanent=True)
        try:
            self._load(folder)
        except ImportError as error:
            raise not_installed(error) from None
        except (OSError, ValueError, KeyError, RuntimeError) as error:
            raise BackendError(
                f"The model's folder can't be loaded ({type(error).__name__}). It must contain a transformers language "
                "model with safetensors weights, and its tokenizer.",
                permanent=True,
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
    def device(self) -> Device:
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
            raise BackendError(
                "The GPU memory is full. Choose fewer words, or stop other programs that use the GPU.", permanent=False
            ) from None

    def _completed(self, question: Question) -> Answer:
        with self._lock, self._torch.inference_mode():
            ids = self._ids(question)
            length = ids.shape[1]
            most = int(getattr(self._model.config, "max_position_embeddings", 0) or 10**9)
            room = min(question.most_tokens, most - length)
            if room < 1:
                raise BackendError(
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
            raise BackendError("The model was stopped in the middle of its answer.", permanent=False)
        self._meter.add(requests=1, tokens_in=int(length), tokens_out=len(made))
        text = self._tokenizer.decode(made, skip_special_tokens=True)
        cut = len(made) >= room and int(made[-1]) != self._tokenizer.eos_token_id
        return Answer(str(text), cut=cut, tokens=int(length) + len(made))

    def _ids(self, question: Question) -> Any:
        if self._tokenizer.chat_template:
            text = self._tokenizer.apply_chat_template(
                question.messages(),
                add_generation_prompt=True,
                tokenize=False,
            )
            found = self._tokenizer(text, return_tensors="pt", add_special_tokens=False)
        else:
            found = self._tokenizer(
                "".join(f"{each['content']}\n\n" for each in question.messages()), return_tensors="pt"
            )
        return found["input_ids"].to(self._model.device)


def _sampling(temperature: float) -> dict[str, Any]:
    """The options of `generate` for a temperature; at 0, the most likely token always follows."""
    return {"do_sample": True, "temperature": temperature} if temperature else {"do_sample": False}
