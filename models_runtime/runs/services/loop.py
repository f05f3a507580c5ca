"""The state of the loop: which of its four steps are possible now, and which step is next."""

from dataclasses import dataclass
from typing import Literal

from annotations.core.authors import gold_sets
from annotations.gold.selectors import has_changed
from annotations.gold.services.splitting import held_out
from annotations.jobs.services.queue import LIVE
from annotations.models import Author, Document, GoldVersion, Project
from annotations.review.selectors.reviewing import ReviewProgress, review_progress, run_authors
from models_runtime.core.registry import language_models
from models_runtime.models import Run, TrainedModel, TrainedModelState
from models_runtime.runs.services.rounds import LEARNED

Step = Literal["freeze", "train", "run", "review"]
STEPS: tuple[Step, ...] = ("freeze", "train", "run", "review")


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
    models = (
        TrainedModel.objects.filter(project=project, gold_version=version)
        .exclude(backend__in=language_models())
        .exclude(card__has_key="epoch")
        .order_by("-pk")
        if version
        else None
    )
    model = models.filter(state__in=LEARNED).first() if models is not None else None
    training = models.filter(state=TrainedModelState.TRAINING, job__state__in=LIVE).first() if models else None
    run = model.runs.select_related("author", "job").order_by("-pk").first() if model else None
    author = _reviewed_next(project, run)
    return Loop(
        gold=golden,
        left=Document.objects.filter(project=project).count() - golden,
        changed=version is None or has_changed(project, version),
        version=version,
        held_out=held_out(version) if version and version.split_seed else None,
        model=model,
        training=training,
        run=run,
        author=author,
        progress=review_progress(author) if author else None,
    )


def _reviewed_next(project: Project, run: Run | None) -> Author | None:
    """Return the author of the model's run, else of the newest run with something to review."""
    if run is not None:
        return run.author
    return next((author for author in run_authors(project) if review_progress(author).left), None)
