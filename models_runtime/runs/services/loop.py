"""The state of the loop: which of its four steps are possible now, and which step is next."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from django.db.models import QuerySet

from annotations.core.authors import gold_sets
from annotations.core.stored_figures import key_of
from annotations.gold.events import GOLD_FROZEN
from annotations.gold.selectors import has_changed
from annotations.gold.services.splitting import held_out
from annotations.jobs.services.queue import LIVE
from annotations.models import Author, Document, Event, GoldVersion, GoldVersionNote, Project
from annotations.review.selectors.reviewing import ReviewProgress, review_progress, run_authors
from annotations.review.services.log import Effort, effort_between
from annotations.scores.rules.intervals import FewNotes
from models_runtime.core.registry import language_models
from models_runtime.models import Run, TrainedModel, TrainedModelState
from models_runtime.training.services.model_cards import few_notes_of, headline

# The rounds of the loop: a gold version, the model trained on it, the model's run, and the effort of review.
#
# Rounds have no table of their own. A round lasts from one frozen version to the next; reviews before the first version
# belong to round 0.


State = TrainedModelState
LEARNED = (State.READY, State.RETIRED)
BATCH = 500


@dataclass(frozen=True)
class Round:
    """`model` is the last model trained on the version; `more` counts earlier ones. `run` is the last run of `model`.

    `hold_out` is a hash of the notes that the model was scored on and of their gold. Scores are comparable if the
    hashes are equal.
    """

    version: GoldVersion | None
    effort: Effort
    model: TrainedModel | None = None
    more: int = 0
    run: Run | None = None
    hold_out: str = ""
    comparable: bool = False

    @property
    def number(self) -> int:
        return self.version.number if self.version else 0

    @property
    def f1(self) -> float | None:
        """F1 of exact spans by label on the hold-out."""
        found = headline(self.model.card) if self.model else None
        return found["f1"] if found else None

    @property
    def few_notes(self) -> FewNotes | None:
        """The interval of `f1` on few notes."""
        return few_notes_of(self.model.card) if self.model else None

    @property
    def held_out(self) -> int:
        return int(self.model.card.get("held_out") or 0) if self.model else 0

    def as_dict(self) -> dict[str, Any]:
        gold, model, effort = self.version, self.model, self.effort
        return {
            "round": self.number,
            "gold_notes": gold.note_count if gold else None,
            "gold_spans": gold.span_count if gold else None,
            "gold_hash": gold.content_hash if gold else None,
            "model": model.name if model else None,
            "other_models": self.more,
            "f1": self.f1,
            "few_notes": self.few_notes,
            "held_out": self.held_out if model else None,
            "comparable": self.comparable,
            "run": self.run.author.name if self.run else None,
            "acts": effort.acts,
            "bulk_acts": effort.bulk,
            "notes_reviewed": effort.notes,
            "spans_reviewed": effort.spans,
            "acts_per_span": effort.acts_per_span,
            "seconds_per_note": effort.seconds_per_note,
        }


def rounds(project: Project) -> list[Round]:
    """List the rounds in order. Round 0 is listed only if notes were reviewed before the first version."""
    versions = list(project.gold_versions.order_by("number"))
    ends = _ends(project, versions)
    efforts = [effort_between(project, after, upto) for after, upto in zip([0, *ends], [*ends, None], strict=True)]
    models = _models(project)
    runs = _runs(project)
    found = [Round(None, efforts[0])] if efforts[0].acts or not versions else []
    for version, effort in zip(versions, efforts[1:], strict=True):
        learned = models.get(version.pk, [])
        model = learned[0] if learned else None
        found.append(
            Round(
                version, effort, model, max(len(learned) - 1, 0), runs.get(model.pk) if model else None,
                _hold_out(version, model),
            )
        )  # fmt: skip
    return _compared(found)


def _ends(project: Project, versions: Sequence[GoldVersion]) -> list[int]:
    """Return the event that froze each version, or the last event before the version if that event is missing."""
    events = Event.objects.filter(project_id=project.pk)
    frozen = {data.get("version"): pk for pk, data in events.filter(verb=GOLD_FROZEN).values_list("pk", "data")}
    return [
        frozen.get(version.number)
        or events.filter(at__lte=version.created_at).order_by("-pk").values_list("pk", flat=True).first()
        or 0
        for version in versions
    ]


def _models(project: Project) -> dict[int, list[TrainedModel]]:
    """Return the trained models by gold version, newest first, without unfinished trainings."""
    found: dict[int, list[TrainedModel]] = defaultdict(list)
    for model in _trained(project).filter(state__in=LEARNED).defer("losses", "hold_out"):
        found[model.gold_version_id or 0].append(model)
    return found


def _trained(project: Project) -> QuerySet[TrainedModel]:
    """Models trained on gold versions, newest first, without language models and the models of single epochs."""
    rows = TrainedModel.objects.filter(project=project, gold_version__isnull=False).order_by("-pk")
    return rows.exclude(backend__in=language_models()).exclude(card__has_key="epoch")


def _runs(project: Project) -> dict[int, Run]:
    """Return the last run of each model."""
    rows = Run.objects.filter(project=project, model__isnull=False).select_related("author", "job").order_by("pk")
    return {run.model_id or 0: run for run in rows}


def _hold_out(version: GoldVersion, model: TrainedModel | None) -> str:
    """Hash the hold-out and its gold. Empty if there is no hold-out."""
    documents = (model.card.get("held_out_notes") if model else None) or []
    if model is None or headline(model.card) is None:
        return ""
    notes: list[Any] = []
    for at in range(0, len(documents), BATCH):
        rows = GoldVersionNote.objects.filter(version=version, document__in=documents[at : at + BATCH])
        for document, spans in rows.order_by("document").values_list("document", "spans"):
            notes.append([document, [span[:3] for span in spans]])
    return key_of(notes)


def _compared(found: list[Round]) -> list[Round]:
    """Mark the rounds whose models were scored on the same notes as the newest model."""
    last = next((each.hold_out for each in reversed(found) if each.hold_out), "")
    return [replace(each, comparable=bool(last) and each.hold_out == last) for each in found]


Step = Literal["freeze", "train", "run", "review"]


@dataclass(frozen=True)
class Loop:
    """The state of the loop. `gold` counts notes that are gold, `left` the others.

    `changed` tells whether gold differs from the last version. `model` is the last model trained on the last version;
    `training` is a model being trained on it. `run` is the model's last run. `author` is the author of the suggestions
    to review next: the model's run, or without a model the newest run with something to review.
    """

    gold: int
    left: int
    changed: bool
    version: GoldVersion | None
    held_out: int | None
    model: TrainedModel | None
    training: TrainedModel | None
    run: Run | None
    author: Author | None
    progress: ReviewProgress | None

    @property
    def running(self) -> bool:
        return self.run is not None and self.run.job is not None and self.run.job.state in LIVE

    @property
    def can(self) -> dict[Step, bool]:
        learnable = self.version is not None and self.version.span_count > 0
        return {
            "freeze": bool(self.gold) and (self.changed or self.held_out is None),
            "train": learnable and self.model is None and self.training is None,
            "run": self.model is not None and self.model.state == TrainedModelState.READY and not self.run
            and bool(self.left),
            "review": self.progress is not None and bool(self.progress.left),
        }  # fmt: skip

    @property
    def next(self) -> Step | None:
        """The next step; None during a training or run, and if no step is possible."""
        can = self.can
        if self.training is not None or (self.running and not can["review"]):
            return None
        if self.version is None or self.held_out is None:
            return "freeze" if can["freeze"] else "review" if can["review"] else None
        return next((step for step in ("train", "run", "review", "freeze") if can[step]), None)


def loop_of(project: Project) -> Loop:
    gold = gold_sets(project)
    golden = gold.count()
    version = project.gold_versions.order_by("-number").first()
    models = _trained(project).filter(gold_version=version)
    model = models.filter(state__in=LEARNED).first()
    training = models.filter(state=TrainedModelState.TRAINING, job__state__in=LIVE).first()
    run = model.runs.select_related("author", "job").order_by("-pk").first() if model else None
    author = _reviewed_next(project, run)
    return Loop(
        gold=golden,
        left=Document.objects.filter(project=project).count() - golden,
        changed=version is None or has_changed(version),
        version=version,
        held_out=held_out(version) if version and version.split_seed else None,
        model=model,
        training=training,
        run=run,
        author=author,
        progress=review_progress(author) if author else None,
    )


def loop_answer(project: Project) -> dict[str, Any]:
    """The rounds and the state as the command prints them and the API answers them."""
    state = loop_of(project)
    return {
        "rounds": [each.as_dict() for each in rounds(project)],
        "gold_notes": state.gold,
        "left": state.left,
        "held_out": state.held_out,
        "next": state.next or "",
    }


def _reviewed_next(project: Project, run: Run | None) -> Author | None:
    """Return the author of the model's run, else of the newest run with something to review."""
    if run is not None:
        return run.author
    return next((author for author in run_authors(project) if review_progress(author).left), None)
