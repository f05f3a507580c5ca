"""Language models on servers: settings, retries, errors, conversations in parallel. A model in this process."""

import itertools
import logging
import threading
from dataclasses import replace
from typing import Any

import pytest

from models_runtime.backends import bounded
from models_runtime.backends.base import BackendError, OnDevice
from models_runtime.backends.llm import remote
from models_runtime.backends.llm.asking import Answer, Meter, Question
from models_runtime.backends.llm.backend import LocalCompletion
from models_runtime.backends.llm.driver import ServerQueue, converse
from models_runtime.backends.llm.remote import RemoteCompletion
from models_runtime.backends.llm.servers import Server, read_servers
from tests.backends.llm.scripted import Reply, backend_at, note_of, serving
from tests.waiting import HANGS

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from models_runtime.backends.neural import device  # noqa: E402 - needs torch
from tests.backends.made_weights import tiny_llama  # noqa: E402

QUESTION = Question("system", "note-0000000000000000\nDr. Serra\nnote-0000000000000000", 100, {"type": "object"})


def completion(url: str, waits: list[float] | None = None, **options: Any) -> RemoteCompletion:
    server = Server("ward", url, ("m1",), **({"seconds": 5} | options))
    return RemoteCompletion(server, "m1", Meter(), sleep=(waits if waits is not None else []).append)


def in_turn(*said: Reply | str) -> Any:
    """Each answer once, then the last one again and again."""
    following = itertools.chain(said, itertools.repeat(said[-1]))
    return lambda body: next(following)


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503])
def test_temporary_errors_are_retried_with_growing_pauses(status: int) -> None:
    waits: list[float] = []
    with serving(in_turn(Reply(status=status), Reply(status=status), "yes")) as server:
        asker = completion(server.url, waits)
        assert asker.complete(QUESTION).text == "yes"
    assert asker.meter.take() == {"requests": 3, "retries": 2, "tokens_in": 100, "tokens_out": 10}
    assert len(waits) == 2 and 1 <= waits[0] <= 2 <= waits[1] <= 4


def test_retry_after_is_respected_up_to_a_minute() -> None:
    waits: list[float] = []
    times = ("7", "86400", "Wed, 21 Oct 2015 07:28:00 GMT")
    busy = [Reply(status=429, headers={"Retry-After": value}) for value in times]
    with serving(in_turn(*busy, "yes")) as server:
        completion(server.url, waits).complete(QUESTION)
    assert 7 <= waits[0] <= 8 and waits[1] == remote.LONGEST_WAIT and 0 <= waits[2] <= 1


def test_a_server_that_keeps_failing_fails_the_note_and_then_the_run() -> None:
    with serving(in_turn(Reply(status=500))) as server:
        asker = completion(server.url)
        for permanent in (*[False] * (bounded.GIVE_UP - 1), True):
            with pytest.raises(BackendError, match=r"failed 5 times|in a row") as caught:
                asker.complete(QUESTION)
            assert caught.value.permanent is permanent and "Serra" not in str(caught.value)
        assert len(server.requests) == 5 * bounded.GIVE_UP


@pytest.mark.parametrize(("said", "words", "permanent"), [
    (Reply(status=401), "rejected the key", True), (Reply(status=403), "rejected the key", True),
    (Reply(status=404), "has no model", True),
    (Reply(status=307, headers={"Location": "http://203.0.113.5/v1/chat/completions"}), "redirects", True),
    (Reply(raw=b'{"choices": [Dr. Serra'), "sent an unreadable answer", False),
    (Reply(status=400, body={"error": {"message": "maximum context length is 10: Dr. Serra"}}), "too long", False),
])  # fmt: skip
def test_other_errors_end_the_run_or_the_note_at_once(said: Reply, words: str, permanent: bool) -> None:
    with serving(in_turn(said)) as server:
        with pytest.raises(BackendError, match=words) as caught:
            completion(server.url).complete(QUESTION)
        assert caught.value.permanent is permanent and len(server.requests) == 1 and "Serra" not in str(caught.value)
    waits: list[float] = []
    with pytest.raises(BackendError, match="The server “ward” doesn't respond") as caught:
        completion(server.url, waits).complete(QUESTION)  # The server is down.
    assert caught.value.permanent and len(waits) == remote.TRIES - 1


def test_unsupported_answer_formats_are_given_up_for_good() -> None:
    def old(body: dict[str, Any]) -> Reply:
        return Reply(status=400) if "response_format" in body else Reply("yes")

    with serving(old) as server:
        asker = completion(server.url)
        assert [asker.complete(QUESTION).text for _ in range(2)] == ["yes", "yes"]
        formats = [body.get("response_format", {}).get("type") for body in server.requests]
    assert formats == ["json_schema", "json_object", None, None]
    assert all((body["temperature"], body["max_tokens"]) == (0, QUESTION.most_tokens) for body in server.requests)


def test_the_key_comes_from_the_environment_and_proxies_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEIDREVIEW_LLM_WARD_KEY", "k-123")
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with serving(in_turn("yes")) as server:
        completion(server.url, key_variable="DEIDREVIEW_LLM_WARD_KEY").complete(QUESTION)
        completion(server.url).complete(QUESTION)
        assert server.keys == ["Bearer k-123", "Bearer none"]


def test_no_log_line_contains_a_note(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with serving(in_turn(Reply(status=500), Reply(status=400), "yes")) as server:
        completion(server.url).complete(QUESTION)
        assert all("Serra" in note_of(body) for body in server.requests)
    for client in ("openai._base_client", "httpx", "httpcore.http11"):  # as other versions of these libraries do
        logging.getLogger(client).debug("Request options: Dr. Serra")
    assert "Serra" not in caplog.text


def test_a_list_with_all_its_settings():
    servers = read_servers({
        "DEIDREVIEW_LLM_SERVERS": "ollama=http://127.0.0.1:11434/v1 cloud=https://llm.example.org/v1, tiny=file:///m/tiny%20one",
        "DEIDREVIEW_LLM_OLLAMA_MODELS": "gemma3:12b, qwen3:14b",
        "DEIDREVIEW_LLM_CLOUD_MODELS": "large",
        "DEIDREVIEW_LLM_CLOUD_KEY": "secret",
        "DEIDREVIEW_LLM_CLOUD_AT_ONCE": "16",
        "DEIDREVIEW_LLM_CLOUD_SECONDS": "30",
        "DEIDREVIEW_LLM_CLOUD_PRICE": "EUR 0.15/0.60",
    })  # fmt: skip
    ollama, cloud, tiny = servers.values()
    assert ollama.models == ("gemma3:12b", "qwen3:14b") and not ollama.leaves_machine
    assert (cloud.at_once, cloud.seconds, cloud.leaves_machine, cloud.in_clear) == (16, 30, True, False)
    assert cloud.key_variable == "DEIDREVIEW_LLM_CLOUD_KEY" and "secret" not in repr(servers)
    assert cloud.price and f"{cloud.price.of(1_000_000, 2_000_000):.2f}" == "1.35"
    assert (tiny.folder, tiny.models, tiny.at_once, tiny.leaves_machine) == ("/m/tiny one", ("tiny one",), 1, False)
    assert read_servers({}) == {}


@pytest.mark.parametrize(("host", "leaves"), [
    *((host, False) for host in ("127.0.0.1", "127.8.8.8", "localhost", "[::1]")),
    *((host, True) for host in ("10.0.0.5", "localhost.example.org", "127.0.0.1.example.org", "0.0.0.0")),
])  # fmt: skip
def test_only_loopback_does_not_leave_the_machine(host, leaves):
    servers = read_servers({"DEIDREVIEW_LLM_SERVERS": f"a=http://{host}:1/v1", "DEIDREVIEW_LLM_A_MODELS": "m"})
    assert servers["a"].leaves_machine is leaves and servers["a"].in_clear is leaves


@pytest.mark.parametrize(("environ", "words"), [
    ({"SERVERS": "http://127.0.0.1/v1"}, "is not a name=address pair"),
    ({"SERVERS": "A=http://127.0.0.1/v1"}, "is not a name=address pair"),
    ({"SERVERS": "a=ftp://127.0.0.1/v1"}, "The address of “a”"),
    ({"SERVERS": "a=http://user:pw@host/v1"}, "The address of “a”"),
    ({"SERVERS": "a=http://host:99999/v1"}, "The address of “a”"),
    ({"SERVERS": "a=http://host/v1?key=1"}, "The address of “a”"), ({"SERVERS": "a=file:models"}, "The address of “a”"),
    ({"SERVERS": "a=http://h/v1 a=http://i/v1"}, "two servers"),
    ({"SERVERS": "a=http://h/v1"}, "DEIDREVIEW_LLM_A_MODELS"),
    ({"SERVERS": "a=http://h/v1", "A_MODELS": "m", "A_AT_ONCE": "0"}, "DEIDREVIEW_LLM_A_AT_ONCE"),
    ({"SERVERS": "a=http://h/v1", "A_MODELS": "m", "A_SECONDS": "x"}, "DEIDREVIEW_LLM_A_SECONDS"),
    ({"SERVERS": "a=http://h/v1", "A_MODELS": "m", "A_PRICE": "0.15"}, "DEIDREVIEW_LLM_A_PRICE"),
    ({"SERVERS": "a=http://h/v1", "A_MODELS": "m", "B_MODELS": "m"}, "DEIDREVIEW_LLM_B_MODELS"),
    ({"SERVERS": "a=file:///m", "A_MODELS": "m"}, "contains one model"),
])  # fmt: skip
def test_errors_name_the_variable(environ, words):
    with pytest.raises(ValueError, match="DEIDREVIEW_LLM_") as caught:
        read_servers({f"DEIDREVIEW_LLM_{name}": value for name, value in environ.items()})
    assert words in str(caught.value) and "pw@" not in str(caught.value)


SHORT = Question("system", "user", 10)


class Counted:
    """Answers, and counts simultaneous questions. Until two have met, each question waits for another one."""

    at_once = 8

    def __init__(self, patience: float) -> None:
        self.most = self._now = 0
        self._patience = patience
        self._lock = threading.Condition()

    def complete(self, question: Question) -> Answer:
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
            self._lock.notify_all()
            self._lock.wait_for(lambda: self.most > 1, self._patience)
        with self._lock:
            self._now -= 1
        return Answer("yes")

    def stop(self) -> None:
        pass


class CapacityOfOne:
    def take(self, asking: int) -> int:
        return 1

    def leave(self) -> None:
        pass


def conversation() -> Any:
    answer = yield SHORT
    return answer.text


def queue(completion: Counted, at_once: int, capacity: Any = None) -> ServerQueue[int, str]:
    return ServerQueue(((at, completion, conversation()) for at in range(4)), at_once, capacity)


def test_each_queue_keeps_its_own_limit() -> None:
    """The queues share threads, but the first queue can't use those that the second one leaves free."""
    narrow, wide = Counted(0.1), Counted(HANGS)
    said = list(converse([queue(narrow, 1), queue(wide, 4)]))
    assert sorted(said) == sorted([(at, "yes") for at in range(4)] * 2) and narrow.most == 1 < wide.most


def test_a_queue_keeps_the_capacity_of_its_server() -> None:
    shared = Counted(0.1)
    assert len(list(converse([queue(shared, 4, CapacityOfOne())]))) == 4 and shared.most == 1


# ── A model in this process: a tiny one of a real architecture with random weights. Its answers are rejected ──


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
