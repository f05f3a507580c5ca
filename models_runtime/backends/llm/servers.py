"""The allowed servers, from the environment. A run refers to a server by its name, never by its address.

    DEIDREVIEW_LLM_SERVERS="ollama=http://127.0.0.1:11434/v1 cloud=https://llm.example.org/v1 tiny=file:///models/tiny"
    DEIDREVIEW_LLM_OLLAMA_MODELS="gemma3:12b qwen3:14b"
    DEIDREVIEW_LLM_CLOUD_KEY, _AT_ONCE (simultaneous requests), _SECONDS (time limit of a request),
    _PRICE ("EUR 0.15/0.60": price of a million tokens, in/out)

`file://` is the folder of a model on the worker's machine, which runs in the worker's process.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit

from models_runtime.backends.listed import Listed, Variables, http_address, plain_address

PREFIX: Final = "DEIDREVIEW_LLM_"
LIST: Final = f"{PREFIX}SERVERS"
AT_ONCE: Final = 4
SECONDS: Final = 120
MOST_AT_ONCE: Final = 64
_PRICE: Final = re.compile(r"([A-Z]{3}) (\d{1,6}(?:\.\d{1,6})?)/(\d{1,6}(?:\.\d{1,6})?)")
_OPTIONS: Final = ("MODELS", "KEY", "AT_ONCE", "SECONDS", "PRICE")


@dataclass(frozen=True)
class Price:
    """Prices of a million input tokens and of a million output tokens."""

    currency: str
    tokens_in: Decimal
    tokens_out: Decimal

    def of(self, tokens_in: int, tokens_out: int) -> Decimal:
        return (self.tokens_in * tokens_in + self.tokens_out * tokens_out) / 1_000_000


@dataclass(frozen=True)
class Server(Listed):
    """A server. `key_variable`: the environment variable with the key. The key itself is not stored here."""

    models: tuple[str, ...]
    key_variable: str = ""
    at_once: int = AT_ONCE
    seconds: int = SECONDS
    price: Price | None = None

    @property
    def folder(self) -> str:
        """The folder of a model in this process; empty for a server."""
        return unquote(urlsplit(self.url).path) if self.url.startswith("file:") else ""

    @property
    def leaves_machine(self) -> bool:
        """Whether text sent to the server leaves the worker's machine."""
        return not self.folder and super().leaves_machine


def read_servers(environ: Mapping[str, str]) -> dict[str, Server]:
    """The servers by name. Raises ValueError with the name of the variable and its allowed values."""
    variables = Variables(PREFIX, LIST, _OPTIONS, environ)
    return {name: _server(name, url, variables) for name, url in variables.addresses().items()}


def _server(name: str, url: str, variables: Variables) -> Server:
    parts = _address(name, url)
    models = variables.words(name, "MODELS")
    if parts.scheme == "file":
        if models:
            raise ValueError(
                f"{variables.name(name, 'MODELS')}: The folder “{name}” contains one model. Leave this setting empty."
            )
        models = (PurePosixPath(unquote(parts.path)).name,)
    if not models:
        raise ValueError(f"{variables.name(name, 'MODELS')}: List at least one model of the server “{name}”.")
    return Server(
        name=name,
        url=url,
        models=models,
        key_variable=variables.name(name, "KEY") if variables.value(name, "KEY") else "",
        at_once=1 if parts.scheme == "file" else variables.number(name, "AT_ONCE", AT_ONCE, MOST_AT_ONCE),
        seconds=variables.number(name, "SECONDS", SECONDS, 3600),
        price=_price(variables.name(name, "PRICE"), variables.value(name, "PRICE")),
    )


def _address(name: str, url: str) -> SplitResult:
    parts = plain_address(url)
    if parts and parts.scheme == "file" and parts.path.startswith("/") and not parts.netloc:
        return parts
    found = http_address(url)
    if found is None:
        raise ValueError(
            f"{LIST}: The address of “{name}” must be http(s)://host[:port]/path or file:///folder, without user, "
            "? or #."
        )
    return found


def _price(variable: str, value: str) -> Price | None:
    if not value:
        return None
    found = _PRICE.fullmatch(value)
    if not found:
        raise ValueError(f"{variable}: “{value}” is not a price such as EUR 0.15/0.60 (a million tokens, in/out).")
    return Price(found[1], Decimal(found[2]), Decimal(found[3]))
