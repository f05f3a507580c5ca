"""Our client and our server, by both protocols: the spans of a backend come back as they are."""

import ipaddress
import socket
from collections.abc import Iterator

import pytest

from models_runtime.backends.rules import RulesBackend
from tests.backends.contract import MANY, PLAIN, key
from tests.backends.remote.scripted import KEY, remote, serving

RULES = RulesBackend(label_set="redactor-33")
SAME = {label: label for label in RULES.labels}


@pytest.fixture(scope="module")
def servers() -> Iterator[dict[str, str]]:
    with serving(RULES, "inception") as first, serving(RULES, "label-studio") as second:
        yield {"inception": first, "label-studio": second}


@pytest.mark.parametrize("protocol", ["inception", "label-studio"])
def test_spans_are_those_of_the_model(servers: dict[str, str], protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of hostile texts too, one by one and together. No other server is asked than the listed one."""
    real = socket.socket.connect

    def loopback_alone(self: socket.socket, address: tuple[str, int]) -> None:
        assert ipaddress.ip_address(address[0]).is_loopback
        real(self, address)

    monkeypatch.setattr(socket.socket, "connect", loopback_alone)
    backend = remote(f"{servers[protocol]}/{KEY}", protocol, SAME, batch=8 if protocol == "label-studio" else 1)
    long = PLAIN * 300
    there, here = backend.predict([*MANY, long]), RULES.predict([*MANY, long])
    for found, expected in zip(there, here, strict=True):
        assert [row[:4] for row in key(found)] == [row[:4] for row in key(expected)]
        assert {span.source for span in found} <= {"remote-there"}
    assert any(there) and list(backend.stream(iter(MANY))) == there[:-1]
