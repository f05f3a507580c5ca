"""Runs side by side, as rows of figures: what each reader has, which is the best, and how fast it was."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy

from annotations.models import Job, Project
from annotations.scores.services.side_by_side import Together
from models_runtime.calibration.jobs import learned_from
from models_runtime.core.combining import models_behind
from models_runtime.models import Run

# A job shorter than this says nothing about speed (seconds).
TELLING = 1.0


@dataclass(frozen=True)
class Cell:
    """One reader's value; None where it is undefined."""

    value: float | None
    best: bool


@dataclass(frozen=True)
class Row:
    """A figure of every reader, in their order. `kind` says how it is written: figure, share, pace or seconds."""

    key: str
    name: Any
    kind: str
    cells: list[Cell]


@dataclass(frozen=True)
class _Figure:
    """`path` leads to the value in a score table; a pair stands for the level of that unit and granularity."""

    key: str
    name: Any
    path: tuple[str | tuple[str, str], ...]
    kind: str = "figure"
    low: bool = False


def _triple(key: str, name: Any, *path: str | tuple[str, str]) -> list[_Figure]:
    letters = (("precision", "P"), ("recall", "R"), ("f1", "F1"))
    return [_Figure(f"{key}_{each}", (name, letter), (*path, each)) for each, letter in letters]


FIGURES = [
    *_triple("strict", gettext_lazy("Exact spans and labels"), "levels", ("entity", "subcategory"), "micro"),
    *_triple("overlap", gettext_lazy("Overlapping spans, any label"), "overlap", "entity"),
    *_triple("binary", gettext_lazy("Tokens, personal or not"), "levels", ("token", "binary"), "micro"),
    _Figure("character_recall", (gettext_lazy("Characters"), "R"), ("characters", "recall")),
    _Figure("character_precision", (gettext_lazy("Characters"), "P"), ("characters", "precision")),
    _Figure("leak", (gettext_lazy("Leak score"), ""), ("meddocan", "leak"), low=True),
    _Figure(
        "all_or_nothing", (gettext_lazy("Notes with all found"), ""), ("all_or_nothing", "covered", "share"), "share"
    ),
    _Figure("notes_with_miss", (gettext_lazy("Notes with a miss"), ""), ("residual", "share"), "share", low=True),
]


def figure_rows(table: Mapping[str, Any]) -> list[Row]:
    """The rows of a comparison (`annotations.scores.services.side_by_side`), and the pace of those that are runs."""
    tables = [reader["table"] for reader in table["readers"]]
    return [
        Row(one.key, one.name, one.kind, _cells([_value(each, one.path) for each in tables], low=one.low))
        for one in FIGURES
    ]


def label_rows(table: Mapping[str, Any]) -> list[Row]:
    """F1 of exact spans by label, in the project's order; labels that neither gold nor anybody has are left out."""
    f1: dict[str, dict[int, float | None]] = {}
    for at, reader in enumerate(table["readers"]):
        for line in reader["table"]["labels"]:
            f1.setdefault(line["label"], {})[at] = line["entity"]["f1"]
    readers = range(len(table["readers"]))
    return [Row(code, code, "figure", _cells([found.get(at) for at in readers])) for code, found in f1.items()]


def pace_rows(project: Project, authors: Sequence[int]) -> list[Row]:
    """Notes per second and seconds of each author's run, by the clock of its job; None for people and short jobs."""
    runs = Run.objects.filter(project=project, author__in=authors, job__state=Job.State.DONE).select_related("job")
    paces: dict[int, tuple[float, float]] = {}
    for run in runs:
        job = run.job
        if job is not None and job.started_at and job.finished_at:
            seconds = (job.finished_at - job.started_at).total_seconds()
            if seconds >= TELLING and job.done:
                paces[run.author_id] = (job.done / seconds, seconds)
    found = [paces.get(pk, (None, None)) for pk in authors]
    return [
        Row("notes_per_second", (gettext_lazy("Notes per second"), ""), "pace", _cells([pace for pace, _ in found])),
        Row("seconds", (gettext_lazy("Seconds in all"), ""), "seconds", [Cell(took, best=False) for _, took in found]),
    ]


def learned_here(wish: Together, notes: Collection[int]) -> dict[int, int]:
    """Of how many of these notes the model behind an author's run has learned: its figures there flatter."""
    runs = Run.objects.filter(author__in=[author.pk for author in wish.authors])
    found = {}
    for run in runs.select_related("project", "author", "model__gold_version"):
        learned = {note for model in models_behind(run) for note in learned_from(model)}
        if shared := len(learned.intersection(notes)):
            found[run.author_id] = shared
    return found


def _value(table: Mapping[str, Any], path: tuple[str | tuple[str, str], ...]) -> float | None:
    found: Any = table
    for step in path:
        if isinstance(step, tuple):
            found = next((one for one in found if (one["unit"], one["granularity"]) == step), None)
        else:
            found = found[step]
        if found is None:
            return None
    return float(found)


def _cells(values: Sequence[float | None], *, low: bool = False) -> list[Cell]:
    """The best marked; all of them where they are the same at four digits, none where there is nothing to choose."""
    known = [round(value, 4) for value in values if value is not None]
    best = (min(known) if low else max(known)) if len(known) > 1 and len(set(known)) > 1 else None
    return [Cell(value, best is not None and value is not None and round(value, 4) == best) for value in values]
