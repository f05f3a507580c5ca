"""Parameters of a run of a language model. Imports no client library."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Final

from annotations.domain.numbers import whole
from models_runtime.backends.llm.prompts import LANGUAGES
from models_runtime.backends.llm.servers import Server

STRATEGIES: Final = {
    "extract": "Extract: the model lists the mentions of each piece of a note",
    "rewrite": "Rewrite: the model gives the whole note back with placeholders",
}
OMEGA: Final = 256
MOST_OMEGA: Final = 4000
LEAST_OMEGA: Final = 16
PASSES: Final = 2
MOST_PASSES: Final = 4


@dataclass(frozen=True)
class Params:
    """Parameters of a run. `omega`: words in a piece; `passes`: passes over a piece. Both only for *extract*."""

    server: str
    model: str
    strategy: str = "extract"
    language: str = "en"
    omega: int = OMEGA
    passes: int = PASSES

    def as_dict(self) -> dict[str, str | int]:
        return asdict(self)


def read_params(given: Mapping[str, object], servers: Mapping[str, Server]) -> Params:
    """The parameters, with defaults for missing ones. Raises ValueError with the value and the choices."""
    if not servers:
        raise ValueError(
            "No language model is available. The administrator can list servers in DEIDREVIEW_LLM_SERVERS."
        )
    server = servers[_one_of("server", given.get("server") or next(iter(servers)), servers)]
    return Params(
        server=server.name,
        model=_one_of("model", given.get("model") or server.models[0], server.models),
        strategy=_one_of("strategy", given.get("strategy") or "extract", STRATEGIES),
        language=_one_of("language", given.get("language") or "en", LANGUAGES),
        omega=_number("omega", given.get("omega"), OMEGA, LEAST_OMEGA, MOST_OMEGA),
        passes=_number("passes", given.get("passes"), PASSES, 1, MOST_PASSES),
    )


def _one_of(what: str, value: object, choices: Collection[str]) -> str:
    if value not in choices:
        raise ValueError(f"There is no {what} “{str(value)[:80]}”. Choose one of: {', '.join(choices)}.")
    return str(value)


def _number(what: str, value: object, default: int, least: int, most: int) -> int:
    if value in (None, ""):
        return default
    text = str(value)
    found = whole(text, most)
    if found is None or found < least:
        raise ValueError(f"{what.capitalize()} must be a whole number from {least} to {most}, not “{text[:40]}”.")
    return found
