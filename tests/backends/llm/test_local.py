"""A model in this process: a tiny one of a real architecture with random weights. Its answers are rejected."""

from pathlib import Path

import pytest

from models_runtime.backends.base import BackendError, OnDevice
from models_runtime.backends.llm.asking import Meter, Question
from models_runtime.backends.llm.local import LocalCompletion
from tests.backends.llm.scripted import backend_at

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from models_runtime.backends.neural import device  # noqa: E402 - needs torch
from tests.backends.made_weights import tiny_llama  # noqa: E402

# The CPU under another name, so that it counts as a GPU here.
AS_GPU = device.Device("cpu:0", "GPU (made up)", budget=64)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_llama(tmp_path_factory.mktemp("tiny") / "tiny-llama")


def test_an_invalid_answer_is_an_error_of_the_note(folder: Path) -> None:
    class Short(LocalCompletion):
        def complete(self, question: Question):
            return super().complete(Question(question.system, question.user, 12))

    backend = backend_at("file://", completion=Short(str(folder), Meter()))
    (result,) = backend.predict_each(["Dr. Anna Serra visited."])
    assert isinstance(result, BackendError) and not result.permanent
    assert "not the requested JSON" in str(result)


def test_answers_are_repeatable_and_tokens_are_counted(folder: Path) -> None:
    meter = Meter()
    model = LocalCompletion(str(folder), meter)
    first, again = (model.complete(Question("Be brief.", "Hello", 8)) for _ in range(2))
    assert first == again and first.cut
    assert meter.take() == {"requests": 2, "tokens_in": 2 * len("Be brief.\n\nHello\n\n"), "tokens_out": 16}


def test_at_a_temperature_answers_are_drawn(folder: Path) -> None:
    model = LocalCompletion(str(folder), Meter())
    torch.manual_seed(1)
    answers = {model.complete(Question("Be brief.", "Hello", 8, temperature=1.0)).text for _ in range(4)}
    assert len(answers) > 1


def test_a_note_longer_than_the_model_fails_alone(folder: Path) -> None:
    with pytest.raises(BackendError, match="too long for the model") as caught:
        LocalCompletion(str(folder), Meter()).complete(Question("", "a" * 5000, 8))
    assert not caught.value.permanent


def test_a_chat_model_is_asked_with_its_chat_template(folder: Path, tmp_path: Path) -> None:
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    form = "{% for each in messages %}{{ each.role }} says {{ each.content }} {% endfor %}assistant says"
    (tmp_path / "chat_template.jinja").write_text(form)
    meter = Meter()
    LocalCompletion(str(tmp_path), meter).complete(Question("Be brief.", "Hello", 4))
    assert meter.take()["tokens_in"] == len("system says Be brief. user says Hello assistant says")


def test_a_stop_ends_an_answer(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = LocalCompletion(str(folder), Meter())
    forward, steps = model._model.forward, []

    def counted(*words, **more):
        steps.append(1)
        if len(steps) == 3:
            model.stop()
        return forward(*words, **more)

    monkeypatch.setattr(model._model, "forward", counted)
    with pytest.raises(BackendError, match="stopped in the middle") as caught:
        model.complete(Question("Be brief.", "Hello", 40))
    assert len(steps) == 3 and not caught.value.permanent


def test_only_safetensors_of_a_local_folder_are_loaded(folder: Path, tmp_path: Path) -> None:
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    (tmp_path / "pytorch_model.bin").write_bytes(b"\x80\x04cos\nsystem\n")
    for place in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(BackendError, match="folder") as caught:
            LocalCompletion(str(place), Meter())
        assert caught.value.permanent


def test_only_a_local_model_has_a_device(folder: Path) -> None:
    backend = backend_at("file://", completion=LocalCompletion(str(folder), Meter()))
    assert isinstance(backend, OnDevice) and backend.device.description == "CPU (no GPU available)"
    assert backend.device.memory() > 0
    assert not isinstance(backend_at("http://127.0.0.1:9/v1"), OnDevice)


def test_on_a_gpu_it_takes_half_the_memory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exact = LocalCompletion(str(folder), Meter())
    assert {value.dtype for value in exact._model.parameters()} == {torch.float32}
    monkeypatch.setattr(device, "choose_device", lambda: AS_GPU)
    half = LocalCompletion(str(folder), Meter())
    assert {value.dtype for value in half._model.parameters()} == {torch.bfloat16}
    assert (
        half.device.description == "GPU (made up)" and half.complete(Question("Be brief.", "Hello", 4)).text is not None
    )


def test_without_enough_gpu_memory_it_computes_on_the_cpu(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = transformers.LlamaForCausalLM
    move = kind.to

    def full(self, name):
        if name != "cpu":
            raise torch.OutOfMemoryError("CUDA out of memory")
        return move(self, name)

    monkeypatch.setattr(device, "choose_device", lambda: AS_GPU)
    monkeypatch.setattr(kind, "to", full)
    found = LocalCompletion(str(folder), Meter())
    assert found.device.description == "CPU (the GPU memory is full)"
    assert {value.dtype for value in found._model.parameters()} == {torch.float32}


def test_a_piece_without_enough_memory_fails_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args, **kwargs):
        raise torch.OutOfMemoryError("CUDA out of memory")

    found = LocalCompletion(str(folder), Meter())
    monkeypatch.setattr(found._model, "generate", full)
    with pytest.raises(BackendError, match=r"The GPU memory is full\. Choose fewer words") as caught:
        found.complete(Question("Be brief.", "Hello", 4))
    assert not caught.value.permanent


def test_loading_a_folder_runs_no_code_and_downloads_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def watched(read):
        def from_pretrained(cls, place, **options):
            asked.append(options)
            return read(place, **options)

        return classmethod(from_pretrained)

    for kind in (transformers.AutoTokenizer, transformers.AutoModelForCausalLM):
        monkeypatch.setattr(kind, "from_pretrained", watched(kind.from_pretrained))
    LocalCompletion(str(folder), Meter())
    assert [(one["local_files_only"], one["trust_remote_code"]) for one in asked] == [(True, False)] * 2
    assert asked[1]["use_safetensors"] is True
