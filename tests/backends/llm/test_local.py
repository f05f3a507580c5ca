"""A model in this process: a tiny one of a real architecture with random weights. Its answers are rejected."""

from dataclasses import replace

import pytest

from models_runtime.backends.base import BackendError, OnDevice
from models_runtime.backends.llm.asking import Meter, Question
from models_runtime.backends.llm.backend import LocalCompletion
from tests.backends.llm.scripted import backend_at

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from models_runtime.backends.neural import device  # noqa: E402 - needs torch
from tests.backends.made_weights import tiny_llama  # noqa: E402

# The CPU under another name, so that it counts as a GPU here.
AS_GPU = device.Device("cpu:0", "GPU (made up)", budget=64)


BRIEF = Question("Be brief.", "Hello", 8)
METER = Meter()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tiny_llama(tmp_path_factory.mktemp("tiny") / "tiny-llama")


@pytest.fixture(scope="module")
def model(folder):
    return LocalCompletion(str(folder), METER)


def test_answers_are_repeatable_unless_drawn_and_tokens_are_counted(model):
    METER.take()
    first, again = (model.complete(BRIEF) for _ in range(2))
    assert first == again and first.cut
    assert METER.take() == {"requests": 2, "tokens_in": 2 * len("Be brief.\n\nHello\n\n"), "tokens_out": 16}
    torch.manual_seed(1)
    assert len({model.complete(replace(BRIEF, temperature=1.0)).text for _ in range(4)}) > 1


def test_what_can_t_be_answered_fails_alone(model, monkeypatch):
    with pytest.raises(BackendError, match="too long for the model") as caught:
        model.complete(Question("", "a" * 5000, 8))
    assert not caught.value.permanent
    backend = backend_at("file://", completion=model)
    complete = model.complete
    monkeypatch.setattr(model, "complete", lambda question: complete(replace(question, most_tokens=12)))
    (result,) = backend.predict_each(["Dr. Anna Serra visited."])
    assert isinstance(result, BackendError) and not result.permanent and "not the requested JSON" in str(result)
    monkeypatch.setattr(model._model, "generate", full)
    with pytest.raises(BackendError, match=r"The GPU memory is full\. Choose fewer words") as caught:
        complete(BRIEF)
    assert not caught.value.permanent


def full(*args, **kwargs):
    raise torch.OutOfMemoryError("CUDA out of memory")


def test_a_chat_model_is_asked_with_its_chat_template(folder, tmp_path):
    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    form = "{% for each in messages %}{{ each.role }} says {{ each.content }} {% endfor %}assistant says"
    (tmp_path / "chat_template.jinja").write_text(form)
    meter = Meter()
    LocalCompletion(str(tmp_path), meter).complete(BRIEF)
    assert meter.take()["tokens_in"] == len("system says Be brief. user says Hello assistant says")


def test_a_stop_ends_an_answer(folder, monkeypatch):
    model = LocalCompletion(str(folder), Meter())
    forward, steps = model._model.forward, []

    def counted(*words, **more):
        steps.append(1)
        if len(steps) == 3:
            model.stop()
        return forward(*words, **more)

    monkeypatch.setattr(model._model, "forward", counted)
    with pytest.raises(BackendError, match="stopped in the middle") as caught:
        model.complete(replace(BRIEF, most_tokens=40))
    assert len(steps) == 3 and not caught.value.permanent


def test_only_safetensors_of_a_local_folder_are_loaded(folder, tmp_path):
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    (tmp_path / "pytorch_model.bin").write_bytes(b"\x80\x04cos\nsystem\n")
    for place in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(BackendError, match="folder") as caught:
            LocalCompletion(str(place), Meter())
        assert caught.value.permanent


def test_on_a_gpu_it_takes_half_the_memory_and_without_enough_it_computes_on_the_cpu(folder, model, monkeypatch):
    def dtypes(of):
        return {value.dtype for value in of._model.parameters()}

    backend = backend_at("file://", completion=model)
    assert isinstance(backend, OnDevice) and backend.device.memory() > 0
    assert not isinstance(backend_at("http://127.0.0.1:9/v1"), OnDevice)
    assert (model.device.description, dtypes(model)) == ("CPU (no GPU available)", {torch.float32})
    monkeypatch.setattr(device, "choose_device", lambda: AS_GPU)
    half = LocalCompletion(str(folder), Meter())
    assert (half.device.description, dtypes(half)) == ("GPU (made up)", {torch.bfloat16})
    assert half.complete(BRIEF).text is not None
    kind, move = transformers.LlamaForCausalLM, transformers.LlamaForCausalLM.to
    monkeypatch.setattr(kind, "to", lambda own, name: (move if name == "cpu" else full)(own, name))
    moved = LocalCompletion(str(folder), Meter())
    assert (moved.device.description, dtypes(moved)) == ("CPU (the GPU memory is full)", {torch.float32})


def test_loading_a_folder_runs_no_code_and_downloads_nothing(folder, monkeypatch):
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
