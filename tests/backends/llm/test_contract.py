"""The contract, with a scripted server on loopback, the only address that this backend may use."""

import ipaddress
import socket
from collections.abc import Iterator

import pytest

from models_runtime.backends import Backend
from tests.backends.contract import MANY, BackendContract
from tests.backends.llm.scripted import backend_at, finder, note_of, serving

WORDS = "Dr. Julian Otero, Hospital San Rocco. Ingreso: 05/03/2020." + " Sin cambios en la exploración." * 20 + "\n"


class LlmContract(BackendContract):
    words = WORDS
    many = MANY[::6]
    most = 30_000

    def test_no_network(self, backend: Backend, monkeypatch: pytest.MonkeyPatch) -> None:
        real = socket.socket.connect

        def loopback_alone(self: socket.socket, address: tuple[str, int]) -> None:
            assert ipaddress.ip_address(address[0]).is_loopback
            real(self, address)

        monkeypatch.setattr(socket.socket, "connect", loopback_alone)
        backend.predict(self.many)


class TestExtract(LlmContract):
    @pytest.fixture
    def backend(self) -> Iterator[Backend]:
        with serving(finder) as server:
            yield backend_at(server.url, omega=2000)


class TestByLabel(LlmContract):
    @pytest.fixture
    def backend(self) -> Iterator[Backend]:
        with serving(finder) as server:
            yield backend_at(server.url, strategy="by_label", omega=2000)


class TestRewrite(LlmContract):
    @pytest.fixture
    def backend(self) -> Iterator[Backend]:
        def rewriter(body: dict) -> str:
            return note_of(body).replace("Dr. Julian Otero", "[PERSON]").replace("05/03/2020", "[DATE]")

        with serving(rewriter) as server:
            yield backend_at(server.url, strategy="rewrite")
