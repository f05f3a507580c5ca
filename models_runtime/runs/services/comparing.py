"""Rows of a comparison of runs: the figures of each author, the best of them, and the speed of runs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from django.db.models import QuerySet
from django.http import Http404
from django.utils.translation import gettext_lazy as _

from annotations.core.access import Access, closed_to
from annotations.jobs.services.queue import once
from annotations.models import Author, GoldVersion, Job, JobState, Project, User
from annotations.scores.rules.intervals import FewNotes
from annotations.scores.rules.operating import AuthorTable, review_points
from annotations.scores.selectors import LEVELS, Reference, characters, compared, learned_notes
from annotations.scores.services import side_by_side as scores
from models_runtime.core.registry import TRAINABLE
from models_runtime.core.stages import learned_from, strategy_of
from models_runtime.models import Run

if TYPE_CHECKING:
    from django.utils.functional import _StrOrPromise

# The speed of jobs that took less than this is not shown (seconds).
SHORTEST_JOB = 1.0
# Larger comparisons are computed by a job: this much text, for all authors together, takes about one second.
MOST_CHARACTERS = 2_000_000
# Thresholds for reviewing are offered in steps of so many hundredths.
EVERY = 5


@dataclass(frozen=True)
class ComparedValue:
    """One author's value; None if it is undefined. `few_notes` is the interval of F1 on few notes."""

    value: float | None
    best: bool
    few_notes: FewNotes | None = None


@dataclass(frozen=True)
class ComparedFigure:
    """A figure of every author, in their order. `kind` is its format: figure, share, pace or seconds."""

    key: str
    name: "tuple[_StrOrPromise, _StrOrPromise]"
    kind: str
    cells: list[ComparedValue]


@dataclass(frozen=True)
class _Figure:
    """`path` leads to the value in an author's table. With `low`, the lowest value is the best."""

    key: str
    name: "_StrOrPromise"
    measure: "_StrOrPromise"
    path: tuple[Any, ...]
    kind: str = "figure"
    low: bool = False

    def of(self, table: AuthorTable) -> float | None:
        found: Any = {**table, "levels": {(one["unit"], one["granularity"]): one for one in table["levels"]}}
        for step in self.path:
            found = found[step] if found and step in found else None
        return cast(float | None, found)


def _triple(key: str, name: "_StrOrPromise", *path: Any) -> list[_Figure]:
    measures: dict[str, _StrOrPromise] = {"precision": _("precision"), "recall": _("recall"), "f1": "F1"}
    return [_Figure(f"{key}_{word}", name, measure, (*path, word)) for word, measure in measures.items()]


FIGURES = [
    *_triple("strict", _("Exact spans and labels"), "levels", ("entity", "subcategory"), "micro"),
    *_triple("overlap", _("Overlapping spans, any label"), "overlap", "entity"),
    *_triple("tolerant", _("Text and position, any label"), "tolerant", "any_label"),
    *_triple("binary", _("Tokens, personal or not"), "levels", ("token", "binary"), "micro"),
    _Figure("character_recall", _("Characters"), _("recall"), ("characters", "recall")),
    _Figure("character_precision", _("Characters"), _("precision"), ("characters", "precision")),
    _Figure("leak", _("Leak score"), "", ("meddocan", "leak"), low=True),
    _Figure(
        "all_or_nothing", _("Notes with all identifiers found"), "", ("all_or_nothing", "covered", "share"), "share"
    ),
    _Figure(
        "all_or_nothing_tolerant",
        _("Notes with all found by text and position"),
        "",
        ("all_or_nothing", "tolerant_any", "share"),
        "share",
    ),
    _Figure("notes_with_miss", _("Notes with a missed identifier"), "", ("residual", "share"), "share", low=True),
]


def figure_rows(table: scores.SideBySideTable) -> list[ComparedFigure]:
    """Return the rows of a comparison (`annotations.scores.services.side_by_side`)."""
    tables = [figures["table"] for figures in table["authors"]]
    rows = [
        ComparedFigure(
            one.key, (one.name, one.measure), one.kind, _cells([one.of(each) for each in tables], low=one.low)
        )
        for one in FIGURES
    ]
    exact = next(row for row in rows if row.key == "strict_f1")
    exact.cells[:] = [
        replace(cell, few_notes=each["few_notes"]) for cell, each in zip(exact.cells, tables, strict=True)
    ]
    return rows


def label_rows(table: scores.SideBySideTable) -> list[ComparedFigure]:
    """Return F1 of exact spans by label, in the project's order, without labels that neither gold nor an author has."""
    f1: dict[str, dict[int, float | None]] = {}
    for index, figures in enumerate(table["authors"]):
        for line in figures["table"]["labels"]:
            f1.setdefault(line["label"], {})[index] = line["entity"]["f1"]
    authors = range(len(table["authors"]))
    return [
        ComparedFigure(code, (code, ""), "figure", _cells([found.get(at) for at in authors]))
        for code, found in f1.items()
    ]


def pace_rows(project: Project, authors: Sequence[int]) -> list[ComparedFigure]:
    """Return notes per second and total seconds of each author's run, measured by its job; None for people.

    Also None for jobs shorter than SHORTEST_JOB.
    """
    runs = Run.objects.filter(project=project, author__in=authors, job__state=JobState.DONE).select_related("job")
    paces: dict[int, tuple[float, float]] = {}
    for run in runs:
        job = run.job
        if job is not None and job.started_at and job.finished_at:
            seconds = (job.finished_at - job.started_at).total_seconds()
            if seconds >= SHORTEST_JOB and job.done:
                paces[run.author_id] = (job.done / seconds, seconds)
    found = [paces.get(pk, (None, None)) for pk in authors]
    return [
        ComparedFigure(
            "notes_per_second", (_("Notes per second"), ""), "pace", _cells([pace for pace, _took in found])
        ),
        ComparedFigure(
            "seconds", (_("Total seconds"), ""), "seconds", [ComparedValue(took, best=False) for _pace, took in found]
        ),
    ]


def learned_here(wanted: scores.ComparisonRequest, notes: Iterable[int]) -> dict[int, int]:
    """Count, for each author, the notes that the model of its run was trained on. On these its figures are too good."""
    found = {author.pk: learned_notes(author, notes) for author in wanted.authors}
    return {pk: shared for pk, shared in found.items() if shared}


def thresholds_of(authors: Iterable[int]) -> dict[int, float]:
    """Return the masking threshold of each of these authors whose run has one."""
    runs = Run.objects.filter(author__in=list(authors), params__threshold__isnull=False)
    return {author: params["threshold"] for author, params in runs.values_list("author_id", "params")}


@dataclass(frozen=True)
class StrategyRow:
    """The run of a trained model with its F1 by level. `best` names the levels at which it is the best."""

    run: str
    model: str
    kind: str
    strategy: str
    f1: dict[str, float | None]
    best: list[str]

    @property
    def cells(self) -> list[ComparedValue]:
        return [ComparedValue(value, name in self.best) for name, value in self.f1.items()]


@dataclass(frozen=True)
class Strategies:
    """Runs of trained models by language strategy, on the same `notes`, from which no model learned.

    `late`: the notes have too much text for a page; the command computes and stores the figures.
    """

    notes: int
    rows: list[StrategyRow]
    late: bool = False
    few_notes: FewNotes | None = None


def compared_strategies(
    project: Project, version: GoldVersion, *, language: str = "", split: str = "",
    among: QuerySet[Author] | None = None, most: int | None = None,
) -> Strategies:  # fmt: skip
    """Compare the newest run of each trained model as in Catelli 2021, table 4.17.

    `among`: the authors whom the person may see. `most`: the characters, for all runs together, to compute at once.
    Runs without notes in the language and split are left out. Raises ErasedMeanwhile.
    """
    reference = Reference(project, version)
    runs = Run.objects.filter(project=project, model__isnull=False).order_by("pk")
    if among is not None:
        runs = runs.filter(author__in=among)
    newest = {run.model_id: run for run in runs.select_related("author", "model__gold_version__project")}
    chosen = [run for run in newest.values() if compared(reference, run.author, split=split, language=language).count]
    if not chosen:
        return Strategies(0, [])
    wanted = scores.ComparisonRequest(reference, tuple(run.author for run in chosen), split, language)
    notes = scores.common_notes(wanted, without={note for run in chosen for note in learned_from(run.model)})
    if not notes.notes:
        return Strategies(0, [])
    if (
        scores.kept_table(wanted, notes) is None
        and most is not None
        and characters(notes.of[0], most) * len(chosen) > most
    ):
        return Strategies(notes.notes, [], late=True)
    table = scores.side_by_side(wanted, notes=notes)
    tables = [figures["table"] for figures in table["authors"]]
    columns = {}
    for unit, granularity in LEVELS:
        figure = _Figure("", "", "", ("levels", (unit, granularity), "micro", "f1"))
        columns[f"{unit}_{granularity}"] = _cells([figure.of(each) for each in tables])
    rows = [_strategy_row(run, {name: column[at] for name, column in columns.items()}) for at, run in enumerate(chosen)]
    rows.sort(key=lambda row: (row.kind, row.model))
    return Strategies(table["notes"], rows, few_notes=tables[0]["few_notes"])


def _strategy_row(run: Run, cells: dict[str, ComparedValue]) -> StrategyRow:
    model = run.model
    assert model is not None  # The query has only runs of models.
    f1, best = {name: cell.value for name, cell in cells.items()}, [name for name, cell in cells.items() if cell.best]
    return StrategyRow(run.author.name, model.name, TRAINABLE[model.backend].title, strategy_of(model), f1, best)


def _cells(values: Sequence[float | None], *, low: bool = False) -> list[ComparedValue]:
    """Mark the best values, compared at four digits. If there is only one value or all are equal, mark none."""
    known = [round(value, 4) for value in values if value is not None]
    best = (min(known) if low else max(known)) if len(known) > 1 and len(set(known)) > 1 else None
    return [
        ComparedValue(value, best is not None and value is not None and round(value, 4) == best) for value in values
    ]


def as_dict(wanted: scores.ComparisonRequest) -> dict[str, Any]:
    """Return a comparison as the command prints it. Raises ServiceError `notes` without common notes."""
    notes = scores.common_notes(wanted)
    table = scores.side_by_side(wanted, notes=notes)
    learned = learned_here(wanted, notes.of[0])
    authors = table["authors"]
    thresholds = thresholds_of(author["author_id"] for author in authors)
    rows = figure_rows(table) + pace_rows(wanted.reference.project, [author["author_id"] for author in authors])
    labels = label_rows(table)
    return {key: table[key] for key in ("project", "gold", "content_hash", "split", "language", "notes")} | {
        "runs": [
            {"run": author["author"], "kind": author["kind"], "found_only_here": author["only"]}
            | {"notes_learned_from": learned.get(author["author_id"], 0)}
            | {"own_gold_spans": author["own_gold_spans"], "merged": author["merged"]}
            | {"few_notes": author["table"]["few_notes"]}
            | {"review": review_points(author["review"], EVERY), "notes_held_out": author["review"]["notes"]}
            | {"masking_threshold": thresholds.get(author["author_id"])}
            | {row.key: row.cells[index].value for row in rows}
            | {"labels": {row.key: row.cells[index].value for row in labels}}
            for index, author in enumerate(authors)
        ],
        "names": {row.key: " ".join(str(part) for part in row.name if part) for row in rows},
        "best": {row.key: _best(row, authors) for row in rows},
        "missed_by_all": table["missed_by_all"],
        "untouched": table["untouched"],
    }


def _best(row: ComparedFigure, authors: list[scores.AuthorFigures]) -> list[str]:
    return [author["author"] for author, cell in zip(authors, row.cells, strict=True) if cell.best]


def asked(
    access: Access, *, ids: Sequence[int], gold: int, split: str = "", language: str = ""
) -> scores.ComparisonRequest:
    """Return what a person asks to compare: authors by id, against a gold version (0: the current gold).

    Raises ServiceError, and Http404 for annotation sets that this person may not see individually.
    """
    # One author above the maximum is enough for the error message.
    chosen = list(ids)[: scores.MOST + 1]
    # Access is checked first, because an error message of the service may contain names.
    if closed_to(access, authors=chosen):
        raise Http404("This person may not see these annotation sets.")
    return scores.comparison_request(access.project, version=gold, ids=chosen, split=split, language=language)


def takes_long(wanted: scores.ComparisonRequest, notes: scores.CommonNotes) -> bool:
    """Return whether a worker must compute the figures."""
    if scores.kept_table(wanted, notes) is not None:
        return False
    return characters(notes.of[0], MOST_CHARACTERS) * len(wanted.authors) > MOST_CHARACTERS


def start_comparison(*, wanted: scores.ComparisonRequest, actor: User, token: str = "") -> Job:
    """Start a long comparison, or return the job that computes it."""
    return once("compare", wanted.reference.project, wanted.params, actor, token)
