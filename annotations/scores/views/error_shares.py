"""The errors of a score by category, as the charts and the table of its page."""

from typing import TypedDict

from annotations.agreement.templatetags.coefficients import percent
from annotations.models import Cause
from annotations.scores.rules.shares import UnitShares
from annotations.scores.services.asking import category_names
from annotations.scores.services.error_list import UNTAGGED
from annotations.scores.services.error_table import CategoryErrors, ErrorCounts, error_table
from annotations.scores.services.scoring import Score, ScoreRequest
from annotations.scores.views.wanted import errors_url


class Bar(TypedDict):
    """A bar of a chart: the name of its row, what it stands for, its value and its number as text."""

    name: str
    values: list[float | None]
    texts: list[str]


class CauseRow(TypedDict):
    """A row of the table: the count and address of all errors, and of those with each cause or without any."""

    name: str
    all: tuple[int, str]
    cells: list[tuple[int, str]]


class ErrorShares(TypedDict):
    span_shares: list[Bar]
    token_shares: list[Bar]
    ratios: list[Bar]
    cause_names: list[object]
    cause_rows: list[CauseRow]
    cause_total: CauseRow


def error_shares(wanted: ScoreRequest, score: Score) -> ErrorShares:
    found = error_table(wanted, score)
    names = category_names(wanted)
    rows = [(names.get(row["category"], row["category"]), row) for row in found["categories"]]
    return {
        "span_shares": [_shares(name, row["entity"]) for name, row in rows],
        "token_shares": [_shares(name, row["token"]) for name, row in rows],
        "ratios": [_ratio(name, row) for name, row in rows if row["tokens_per_span"] is not None],
        "cause_names": [kind.label for kind in Cause.Kind],
        "cause_rows": [_causes(wanted, name, row, category=row["category"]) for name, row in rows],
        "cause_total": _causes(wanted, "", found["all"]),
    }


def _shares(name: str, unit: UnitShares) -> Bar:
    counts = [(unit["spurious"], unit["spurious_share"]), (unit["missed"], unit["missed_share"])]
    return {
        "name": name,
        "values": [share for _n, share in counts],
        "texts": ["–" if share is None else f"{percent(share)} ({n:,})" for n, share in counts],
    }


def _ratio(name: str, row: CategoryErrors) -> Bar:
    return {"name": name, "values": [row["tokens_per_span"]], "texts": [f"{row['tokens_per_span']:.2f}"]}


def _causes(wanted: ScoreRequest, name: str, row: ErrorCounts, **filters: str) -> CauseRow:
    cells = [*row["causes"].items(), (UNTAGGED, row["without_cause"])]
    return {
        "name": name,
        "all": (row["errors"], errors_url(wanted, **filters)),
        "cells": [(n, errors_url(wanted, **filters, cause=cause)) for cause, n in cells],
    }
