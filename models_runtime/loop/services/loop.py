"""Where the loop stands: which of its four steps can be taken now, and which one is next."""

from dataclasses import dataclass
from typing import Literal

from annotations.core.gold_sets import gold_sets
from annotations.gold.services.rounds import held_out
from annotations.jobs.services.allowance import LIVE
from annotations.models import Author, Document, GoldVersion, GoldVersionNote, Project
from annotations.review.selectors.reviewing import ReviewProgress, review_progress, run_authors
from models_runtime.loop.services.rounds import LEARNED
from models_runtime.models import Run, TrainedModel

Step = Literal["freeze", "train", "run", "review"]
STEPS: tuple[Step, ...] = ("freeze", "train", "run", "review")


@dataclass(frozen=True)
class Loop:
    """`gold` notes are gold now, `left` are not; `changed`: gold is not what the last version holds.

    `model` is the last that learned from the last version, `training` one that is at it; `run` is the model's last run,
    `author` whose proposals are reviewed next: the run's, or before there is a model those of the newest run.
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
            "run": self.model is not None and self.model.state == TrainedModel.State.READY and not self.run
            and bool(self.left),
            "review": self.progress is not None and bool(self.progress.left),
        }  # fmt: skip

    @property
    def next(self) -> Step | None:
        """None while a training or a run is at work, and where there is nothing to begin with."""
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
    models = TrainedModel.objects.filter(project=project, gold_version=version).order_by("-pk") if version else None
    model = models.filter(state__in=LEARNED).first() if models is not None else None
    training = models.filter(state=TrainedModel.State.TRAINING, job__state__in=LIVE).first() if models else None
    run = model.runs.select_related("author", "job").order_by("-pk").first() if model else None
    author = _reviewed_next(project, run)
    return Loop(
        gold=golden,
        left=Document.objects.filter(project=project).count() - golden,
        changed=version is None or _changed(project, version),
        version=version,
        held_out=held_out(version) if version and version.split_seed else None,
        model=model,
        training=training,
        run=run,
        author=author,
        progress=review_progress(author) if author else None,
    )


def _reviewed_next(project: Project, run: Run | None) -> Author | None:
    """The newest run that has something to review, the model's own before all."""
    if run is not None:
        return run.author
    return next((author for author in run_authors(project) if review_progress(author).left), None)


def _changed(project: Project, version: GoldVersion) -> bool:
    gold = gold_sets(project)
    if gold.filter(updated_at__gt=version.created_at).exists():
        return True
    return gold.count() != GoldVersionNote.objects.filter(version=version).count()
