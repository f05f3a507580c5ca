"""The allowed servers, from the environment. A run refers to a server by its name, never by its address.

    DEIDREVIEW_LLM_SERVERS="ollama=http://127.0.0.1:11434/v1 cloud=https://llm.example.org/v1 tiny=file:///models/tiny"
    DEIDREVIEW_LLM_OLLAMA_MODELS="gemma3:12b qwen3:14b"
    DEIDREVIEW_LLM_CLOUD_KEY, _AT_ONCE (simultaneous requests), _SECONDS (time limit of a request),
    _PRICE ("EUR 0.15/0.60": price of a million tokens, in/out)

`file://` is the folder of a model on the worker's machine, which runs in the worker's process.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from decimal import Decimal
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import SplitResult, unquote, urlsplit

from annotations.text.names import whole_number
from annotations.text.wording import gettext as _
from models_runtime.backends.listed import ListedServer, Variables, http_address, plain_address
from models_runtime.backends.llm.prompts import LANGUAGES, PRESETS, presets_of, printed

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
class Server(ListedServer):
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


# Parameters of a run of a language model. Imports no client library.


STRATEGIES: Final = {
    "extract": "Extract: the model lists the mentions of each piece of a note",
    "by_label": "Extract by label: one question about each label, to each piece of a note",
    "rewrite": "Rewrite: the model gives the whole note back with placeholders",
}
OMEGA: Final = 256
MOST_OMEGA: Final = 4000
LEAST_OMEGA: Final = 16
PASSES: Final = 2
# Of two chunks, at most this share of their words is shared.
MOST_OVERLAP: Final = 0.5
MOST_PASSES: Final = 4
MOST_TEMPERATURE: Final = 2.0
MOST_TOKENS: Final = 131_072
MOST_PROMPT: Final = 20_000
MOST_CONTEXT: Final = 1_000_000


@dataclass(frozen=True)
class Params:
    """Parameters of a run. Not for *rewrite*: `omega`, words in a piece; `overlap`, words that it shares with the
    piece before; `passes`, passes over a piece; `every_pass`, whether passes follow one that finds nothing.

    `descriptions`, `examples`: whether the prompt has the labels' descriptions, and examples. `tokens`: limit of tokens
    in an answer; 0 for as many as the note needs. `context`, for *extract*: the tokens that the model can read and
    write, by which short notes are put together in one question; 0: each is asked about alone. `template`: the system
    message in place of the built-in one; $labels and $example are filled in. With *by_label*, they stand for one label.
    """

    server: str
    model: str
    strategy: str = "extract"
    language: str = "en"
    omega: int = OMEGA
    passes: int = PASSES
    temperature: float = 0.0
    tokens: int = 0
    template: str = ""
    overlap: int = 0
    every_pass: bool = False
    descriptions: bool = True
    examples: bool = False
    context: int = 0

    def as_dict(self) -> dict[str, str | int | float]:
        return asdict(self)


def read_params(given: Mapping[str, object], servers: Mapping[str, Server]) -> Params:
    """The parameters, with defaults for missing ones. Raises ValueError with the value and the choices.

    The given `preset` names a printed prompt, which decides on template, strategy and language.
    """
    if not servers:
        message = _("No language model is available. The administrator can list servers in DEIDREVIEW_LLM_SERVERS.")
        raise ValueError(message)
    server = servers[_one_of(_("server"), given.get("server") or next(iter(servers)), servers)]
    if given.get("preset"):
        preset = _one_of(_("printed prompt"), given["preset"], presets_of(STRATEGIES))
        if given.get("template"):
            raise ValueError(_("A run has a printed prompt or your own prompt. Leave one of them empty."))
        strategy, language, _source = PRESETS[preset]
        given = {**given, "template": printed(preset), "strategy": strategy, "language": language}
    omega = _number(_("omega"), given.get("omega"), OMEGA, LEAST_OMEGA, MOST_OMEGA)
    return Params(
        server=server.name,
        model=_one_of(_("model"), given.get("model") or server.models[0], server.models),
        strategy=_one_of(_("strategy"), given.get("strategy") or "extract", STRATEGIES),
        language=_one_of(_("language"), given.get("language") or "en", LANGUAGES),
        omega=omega,
        passes=_number(_("passes"), given.get("passes"), PASSES, 1, MOST_PASSES),
        temperature=temperature_of(given.get("temperature")),
        tokens=_number(_("tokens"), given.get("tokens"), 0, 0, MOST_TOKENS),
        template=_template(given.get("template")),
        overlap=_number(_("overlap"), given.get("overlap"), 0, 0, most_overlap(omega)),
        every_pass=_choice(given.get("every_pass"), default=False),
        descriptions=_choice(given.get("descriptions"), default=True),
        examples=_choice(given.get("examples"), default=False),
        context=_number(_("context"), given.get("context"), 0, 0, MOST_CONTEXT),
    )


def most_overlap(omega: int) -> int:
    """The most words that chunks of `omega` words may share."""
    return int(omega * MOST_OVERLAP)


def _one_of(what: str, value: object, choices: Collection[str]) -> str:
    if value not in choices:
        raise ValueError(
            _("There is no {what} “{value}”. Choose one of: {choices}.", what, str(value)[:80], ", ".join(choices))
        )
    return str(value)


def _choice(value: object, *, default: bool) -> bool:
    return default if value is None else bool(value)


def _number(what: str, value: object, default: int, least: int, most: int) -> int:
    if value in (None, ""):
        return default
    text = str(value)
    found = whole_number(text, most)
    if found is None or found < least:
        raise ValueError(
            _(
                "{what} must be a whole number from {least} to {most}, not “{text}”.",
                *(what.capitalize(), least, most, text[:40]),
            )
        )
    return found


def temperature_of(value: object) -> float:
    """The temperature that a person wrote; 0 if nothing was written. Raises ValueError."""
    if value in (None, ""):
        return 0.0
    text = str(value).strip().replace(",", ".")
    if not re.fullmatch(r"[0-9](\.[0-9]{1,3})?", text) or float(text) > MOST_TEMPERATURE:
        raise ValueError(_("The temperature must be a number from 0 to 2, such as 0.7, not “{text}”.", str(value)[:40]))
    return float(text)


def _template(value: object) -> str:
    text = str(value or "").replace("\r\n", "\n").strip()
    if len(text) > MOST_PROMPT:
        raise ValueError(_("The prompt has {n:,} characters. It can have at most {most:,}.", len(text), MOST_PROMPT))
    return text
