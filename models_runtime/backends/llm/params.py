"""What a run of a language model is asked for, checked. Imports no client."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

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
    """`omega`: words of a piece; `passes`: how often a piece is read. Both are for *extract* alone."""

    server: str
    model: str
    strategy: str = "extract"
    language: str = "en"
    omega: int = OMEGA
    passes: int = PASSES

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def read_params(given: Mapping[str, Any], servers: Mapping[str, Server]) -> Params:
    """The parameters with defaults for what is missing. Raises ValueError naming the value and the choices."""
    if not servers:
        raise ValueError("no language model is set up: the administrator lists servers in DEIDREVIEW_LLM_SERVERS")
    server = servers[_one_of("server", given.get("server") or next(iter(servers)), servers)]
    return Params(
        server=server.name,
        model=_one_of("model", given.get("model") or server.models[0], server.models),
        strategy=_one_of("strategy", given.get("strategy") or "extract", STRATEGIES),
        language=_one_of("language", given.get("language") or "en", LANGUAGES),
        omega=_number("omega", given.get("omega"), OMEGA, LEAST_OMEGA, MOST_OMEGA),
        passes=_number("passes", given.get("passes"), PASSES, 1, MOST_PASSES),
    )


def _one_of(what: str, value: Any, choices: Any) -> str:
    if value not in choices:
        raise ValueError(f"there is no {what} {str(value)[:80]!r}; there are: {', '.join(choices)}")
    return str(value)


def _number(what: str, value: Any, default: int, least: int, most: int) -> int:
    if value in (None, ""):
        return default
    word = str(value)
    found = whole(word, most)
    if found is None or found < least:
        raise ValueError(f"{what}: {word[:40]!r} is not a whole number from {least} to {most}")
    return found
