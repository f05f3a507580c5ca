"""The allowed servers, from the environment. A run refers to a server by its name, never by its address.

    DEIDREVIEW_LLM_SERVERS="ollama=http://127.0.0.1:11434/v1 cloud=https://llm.example.org/v1 tiny=file:///models/tiny"
    DEIDREVIEW_LLM_OLLAMA_MODELS="gemma3:12b qwen3:14b"
    DEIDREVIEW_LLM_CLOUD_KEY, _AT_ONCE (simultaneous requests), _SECONDS (time limit of a request),
    _PRICE ("EUR 0.15/0.60": price of a million tokens, in/out)

`file://` is the folder of a model on the worker's machine, which runs in the worker's process.
"""

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit

from annotations.domain.numbers import whole

PREFIX: Final = "DEIDREVIEW_LLM_"
LIST: Final = f"{PREFIX}SERVERS"
AT_ONCE: Final = 4
SECONDS: Final = 120
MOST_AT_ONCE: Final = 64
_NAME: Final = re.compile(r"[a-z][a-z0-9-]{0,19}")
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
class Server:
    """A server. `key_variable`: the environment variable with the key. The key itself is not stored here."""

    name: str
    url: str
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
    def host(self) -> str:
        return urlsplit(self.url).hostname or ""

    @property
    def leaves_machine(self) -> bool:
        """Whether text sent to the server leaves the worker's machine."""
        return not (self.folder or _is_loopback(self.host))

    @property
    def in_clear(self) -> bool:
        """Whether text leaves the machine without encryption."""
        return self.leaves_machine and self.url.startswith("http:")


def read_servers(environ: Mapping[str, str]) -> dict[str, Server]:
    """The servers by name. Raises ValueError with the name of the variable and its allowed values."""
    urls: dict[str, str] = {}
    for word in environ.get(LIST, "").replace(",", " ").split():
        name, equals, url = word.partition("=")
        if not (equals and _NAME.fullmatch(name)):
            raise ValueError(
                f"{LIST}: “{name}” is not a name=address pair. A name has at most 20 characters (a-z, 0-9 and -)."
            )
        if name in urls:
            raise ValueError(f"{LIST}: There are two servers with the name “{name}”.")
        urls[name] = url
    variables = {f"{_variable(name)}_{option}" for name in urls for option in _OPTIONS}
    for variable in sorted(environ):
        if variable.startswith(PREFIX) and variable not in variables | {LIST} and environ[variable]:
            raise ValueError(
                f"{variable}: No server in {LIST} has this setting. Settings of a server: {', '.join(_OPTIONS)}."
            )
    return {name: _server(name, url, environ) for name, url in urls.items()}


def _server(name: str, url: str, environ: Mapping[str, str]) -> Server:
    start = _variable(name)
    parts = _address(name, url)
    models = tuple(environ.get(f"{start}_MODELS", "").replace(",", " ").split())
    if parts.scheme == "file":
        if models:
            raise ValueError(f"{start}_MODELS: The folder “{name}” contains one model. Leave this setting empty.")
        models = (PurePosixPath(unquote(parts.path)).name,)
    if not models:
        raise ValueError(f"{start}_MODELS: List at least one model of the server “{name}”.")
    return Server(
        name=name,
        url=url,
        models=models,
        key_variable=f"{start}_KEY" if environ.get(f"{start}_KEY") else "",
        at_once=1 if parts.scheme == "file" else _number(f"{start}_AT_ONCE", environ, AT_ONCE, MOST_AT_ONCE),
        seconds=_number(f"{start}_SECONDS", environ, SECONDS, 3600),
        price=_price(f"{start}_PRICE", environ.get(f"{start}_PRICE", "")),
    )


def _address(name: str, url: str) -> SplitResult:
    message = (
        f"{LIST}: The address of “{name}” must be http(s)://host[:port]/path or file:///folder, without user, ? or #."
    )
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        raise ValueError(message) from None
    there = (
        bool(parts.hostname) if parts.scheme in ("http", "https") else parts.path.startswith("/") and not parts.netloc
    )
    if (
        parts.scheme not in ("http", "https", "file")
        or not there
        or parts.query
        or parts.fragment
        or "@" in parts.netloc
    ):
        raise ValueError(message)
    return parts


def _number(variable: str, environ: Mapping[str, str], default: int, most: int) -> int:
    value = environ.get(variable, "") or str(default)
    found = whole(value, most)
    if not found:
        raise ValueError(f"{variable}: “{value}” is not a whole number from 1 to {most}.")
    return found


def _price(variable: str, value: str) -> Price | None:
    if not value:
        return None
    found = _PRICE.fullmatch(value)
    if not found:
        raise ValueError(f"{variable}: “{value}” is not a price such as EUR 0.15/0.60 (a million tokens, in/out).")
    return Price(found[1], Decimal(found[2]), Decimal(found[3]))


def _variable(name: str) -> str:
    return PREFIX + name.upper().replace("-", "_")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
