"""Parameters of a run of a language model. Imports no client library."""

import re
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Final

from annotations.text.names import whole
from models_runtime.backends.llm.prompts import LANGUAGES, PRESETS, presets_of, printed
from models_runtime.backends.llm.servers import Server

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


@dataclass(frozen=True)
class Params:
    """Parameters of a run. Not for *rewrite*: `omega`, words in a piece; `overlap`, words that it shares with the
    piece before; `passes`, passes over a piece; `every_pass`, whether passes follow one that finds nothing.

    `descriptions`, `examples`: whether the prompt has the labels' descriptions, and examples. `tokens`: limit of tokens
    in an answer; 0 for as many as the note needs. `template`: the system message in place of the built-in one; $labels
    and $example are filled in. With *by_label*, they stand for one label.
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

    def as_dict(self) -> dict[str, str | int | float]:
        return asdict(self)


def read_params(given: Mapping[str, object], servers: Mapping[str, Server]) -> Params:
    """The parameters, with defaults for missing ones. Raises ValueError with the value and the choices.

    The given `preset` names a printed prompt, which decides on template, strategy and language.
    """
    if not servers:
        raise ValueError(
            "No language model is available. The administrator can list servers in DEIDREVIEW_LLM_SERVERS."
        )
    server = servers[_one_of("server", given.get("server") or next(iter(servers)), servers)]
    if given.get("preset"):
        preset = _one_of("printed prompt", given["preset"], presets_of(STRATEGIES))
        if given.get("template"):
            raise ValueError("A run has a printed prompt or your own prompt. Leave one of them empty.")
        strategy, language, _source = PRESETS[preset]
        given = {**given, "template": printed(preset), "strategy": strategy, "language": language}
    omega = _number("omega", given.get("omega"), OMEGA, LEAST_OMEGA, MOST_OMEGA)
    return Params(
        server=server.name,
        model=_one_of("model", given.get("model") or server.models[0], server.models),
        strategy=_one_of("strategy", given.get("strategy") or "extract", STRATEGIES),
        language=_one_of("language", given.get("language") or "en", LANGUAGES),
        omega=omega,
        passes=_number("passes", given.get("passes"), PASSES, 1, MOST_PASSES),
        temperature=temperature_of(given.get("temperature")),
        tokens=_number("tokens", given.get("tokens"), 0, 0, MOST_TOKENS),
        template=_template(given.get("template")),
        overlap=_number("overlap", given.get("overlap"), 0, 0, most_overlap(omega)),
        every_pass=_choice(given.get("every_pass"), default=False),
        descriptions=_choice(given.get("descriptions"), default=True),
        examples=_choice(given.get("examples"), default=False),
    )


def most_overlap(omega: int) -> int:
    """The most words that chunks of `omega` words may share."""
    return int(omega * MOST_OVERLAP)


def _one_of(what: str, value: object, choices: Collection[str]) -> str:
    if value not in choices:
        raise ValueError(f"There is no {what} “{str(value)[:80]}”. Choose one of: {', '.join(choices)}.")
    return str(value)


def _choice(value: object, *, default: bool) -> bool:
    return default if value is None else bool(value)


def _number(what: str, value: object, default: int, least: int, most: int) -> int:
    if value in (None, ""):
        return default
    text = str(value)
    found = whole(text, most)
    if found is None or found < least:
        raise ValueError(f"{what.capitalize()} must be a whole number from {least} to {most}, not “{text[:40]}”.")
    return found


def temperature_of(value: object) -> float:
    """The temperature that a person wrote; 0 if nothing was written. Raises ValueError."""
    if value in (None, ""):
        return 0.0
    text = str(value).strip().replace(",", ".")
    if not re.fullmatch(r"[0-9](\.[0-9]{1,3})?", text) or float(text) > MOST_TEMPERATURE:
        raise ValueError(f"The temperature must be a number from 0 to 2, such as 0.7, not “{str(value)[:40]}”.")
    return float(text)


def _template(value: object) -> str:
    text = str(value or "").replace("\r\n", "\n").strip()
    if len(text) > MOST_PROMPT:
        raise ValueError(f"The prompt has {len(text):,} characters. It can have at most {MOST_PROMPT:,}.")
    return text
