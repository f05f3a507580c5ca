"""Figures, their aims, and how they are shown."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import ceil
from statistics import median
from typing import Any


@dataclass(frozen=True)
class Figure:
    """One measured figure. `aim` is a limit: at most, or with `at_least` at least."""

    part: str
    name: str
    value: float
    unit: str = ""
    aim: float | None = None
    at_least: bool = False
    # Over the rounds: the best and the worst; empty where there was one round only.
    spread: tuple[float, float] | None = None

    @property
    def met(self) -> bool | None:
        if self.aim is None:
            return None
        return self.value >= self.aim if self.at_least else self.value <= self.aim

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"met": self.met}


def percentile(values: Sequence[float], percent: float) -> float:
    """The nearest-rank percentile: a value that was really measured."""
    return sorted(values)[max(ceil(len(values) * percent / 100), 1) - 1]


def over_rounds(
    part: str, name: str, rounds: Sequence[float], unit: str = "", *, aim: float | None = None, at_least: bool = False
) -> Figure:
    """The median of several rounds, with its spread."""
    spread = (min(rounds), max(rounds)) if len(rounds) > 1 else None
    return Figure(part, name, median(rounds), unit, aim, at_least, spread)


def _number(value: float) -> str:
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def _aim(figure: Figure) -> str:
    if figure.aim is None:
        return ""
    word = "≥" if figure.at_least else "≤"
    return f"{word} {_number(figure.aim).removesuffix('.00').removesuffix('.0')} {figure.unit}".rstrip()


def table(figures: Sequence[Figure]) -> str:
    """Columns: figure, measured, spread over the rounds, aim, whether it is met."""
    rows = [("figure", "measured", "rounds", "aim", "")]
    for figure in figures:
        spread = f"{_number(figure.spread[0])} – {_number(figure.spread[1])}" if figure.spread else ""
        met = {True: "met", False: "MISSED", None: ""}[figure.met]
        rows.append((figure.name, f"{_number(figure.value)} {figure.unit}".rstrip(), spread, _aim(figure), met))
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([lines[0], "─" * sum(widths, 8), *lines[1:]])
