"""The list of servers in the environment: settings, and errors for invalid ones."""

import pytest

from models_runtime.backends.llm.servers import read_servers


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


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.8.8", "localhost", "[::1]"])
def test_loopback_does_not_leave_the_machine(host):
    (server,) = read_servers(
        {"DEIDREVIEW_LLM_SERVERS": f"a=http://{host}:1/v1", "DEIDREVIEW_LLM_A_MODELS": "m"}
    ).values()
    assert not server.leaves_machine


@pytest.mark.parametrize("host", ["10.0.0.5", "localhost.example.org", "127.0.0.1.example.org", "0.0.0.0"])
def test_other_addresses_leave_the_machine(host):
    (server,) = read_servers({"DEIDREVIEW_LLM_SERVERS": f"a=http://{host}/v1", "DEIDREVIEW_LLM_A_MODELS": "m"}).values()
    assert server.leaves_machine and server.in_clear


@pytest.mark.parametrize(
    ("environ", "words"),
    [
        ({"SERVERS": "http://127.0.0.1/v1"}, "is not a name=address pair"),
        ({"SERVERS": "A=http://127.0.0.1/v1"}, "is not a name=address pair"),
        ({"SERVERS": "a=ftp://127.0.0.1/v1"}, "The address of “a”"),
        ({"SERVERS": "a=http://user:pw@host/v1"}, "The address of “a”"),
        ({"SERVERS": "a=http://host:99999/v1"}, "The address of “a”"),
        ({"SERVERS": "a=http://host/v1?key=1"}, "The address of “a”"),
        ({"SERVERS": "a=file:models"}, "The address of “a”"),
        ({"SERVERS": "a=http://h/v1 a=http://i/v1"}, "two servers"),
        ({"SERVERS": "a=http://h/v1"}, "DEIDREVIEW_LLM_A_MODELS"),
        ({"SERVERS": "a=http://h/v1", "A_MODELS": "m", "A_AT_ONCE": "0"}, "DEIDREVIEW_LLM_A_AT_ONCE"),
        ({"SERVERS": "a=http://h/v1", "A_MODELS": "m", "A_SECONDS": "x"}, "DEIDREVIEW_LLM_A_SECONDS"),
        ({"SERVERS": "a=http://h/v1", "A_MODELS": "m", "A_PRICE": "0.15"}, "DEIDREVIEW_LLM_A_PRICE"),
        ({"SERVERS": "a=http://h/v1", "A_MODELS": "m", "B_MODELS": "m"}, "DEIDREVIEW_LLM_B_MODELS"),
        ({"SERVERS": "a=file:///m", "A_MODELS": "m"}, "contains one model"),
    ],
)
def test_errors_name_the_variable(environ, words):
    with pytest.raises(ValueError, match="DEIDREVIEW_LLM_") as caught:
        read_servers({f"DEIDREVIEW_LLM_{name}": value for name, value in environ.items()})
    assert words in str(caught.value) and "pw@" not in str(caught.value)
