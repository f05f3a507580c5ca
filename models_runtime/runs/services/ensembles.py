"""Ensembles, asked for: who votes, with which weights, over which notes. The votes are annotations.domain.voting."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Count, Q
from django.utils.translation import gettext

from annotations.core.errors import ServiceError
from annotations.domain.voting import LEAST, Method
from annotations.models import AnnotationSet, Author, Document, Job, Project, User
from models_runtime.core.registry import BACKENDS, ENSEMBLE
from models_runtime.models import OF_MODEL, Run, TrainedModel
from models_runtime.runs.services.backends import Chosen, chosen, ready_models
from models_runtime.runs.services.runs import started
from models_runtime.training.services.model_cards import headline

OF_RUN: Final = "run:"
# So many runs can be chosen on the page; a command takes any.
RUNS: Final = 30
HEAVIEST: Final = 1000.0
LIVE: Final = (Job.State.QUEUED, Job.State.RUNNING, Job.State.PAUSED)


@dataclass(frozen=True)
class Asked:
    """A member: a backend's key, `model:ID`, a model's name, or `run:NAME`. No weight: its score is its weight."""

    word: str
    weight: float | None = None


@dataclass(frozen=True)
class Voter:
    """A member that can vote: a backend that reads the notes, or the author of a run's readings.

    `model` is the trained model behind it, if any, whose score on the notes held out is its weight.
    """

    name: str
    backend: str = ""
    author: Author | None = None
    model: TrainedModel | None = None

    @property
    def number(self) -> int:
        """Of a run: its author's id."""
        return self.author.pk if self.author else 0

    def as_params(self, weight: float | None) -> dict[str, Any]:
        """The member as the run's row keeps it."""
        kept: dict[str, Any] = {"name": self.name}
        kept |= {"author": self.author.pk} if self.author else {"backend": self.backend}
        return kept | ({"weight": weight} if weight is not None else {})


def start_ensemble(
    *, project: Project, members: Sequence[Asked], method: str, actor: User | None, name: str = "", key: str
) -> Run:
    """A run in which members vote, over the notes that all members which are runs have read.

    The same `key` gives the same run. Raises ServiceError for fewer than two members or one twice, a member that this
    project lacks, a run still at work, labels that the project lacks, a weight that is missing or can't be, a name that
    is taken, or no note that all members have read.
    """
    there = Run.objects.filter(project=project, job__key=f"run-{key}").first()
    if there is not None:
        return there
    if method not in list(Method):
        raise ServiceError(
            gettext("unknown method %(method)s; there are: %(choices)s")
            % {"method": repr(method), "choices": ", ".join(Method)},
            code="method",
        )
    voters = [_voter(project, asked.word.strip()) for asked in members]
    _check_members(voters)
    weights: list[float | None] = [None] * len(voters)
    if method == Method.WEIGHTED:
        weights = [_weight(voter, asked.weight) for voter, asked in zip(voters, members, strict=True)]
    authors = [voter.author.pk for voter in voters if voter.author]
    kept = [voter.as_params(weight) for voter, weight in zip(voters, weights, strict=True)]
    params = {"method": str(method), "members": kept, "left_out": left_out(project, authors)}
    choice = Chosen(ENSEMBLE, None, f"{ENSEMBLE}-{method}")
    return started(project=project, choice=choice, actor=actor, name=name, params=params, key=key, read_by=authors)


def left_out(project: Project, authors: Sequence[int]) -> int:
    """How many of the project's notes not all of these authors have read."""
    notes = Document.objects.filter(project=project)
    read = notes
    for author in authors:
        done = AnnotationSet.objects.filter(author=author, state=AnnotationSet.State.SUBMITTED)
        read = read.filter(pk__in=done.values("document"))
    return notes.count() - read.count() if authors else 0


@dataclass(frozen=True)
class Option:
    """A member that could be asked for. `weight` is its score; `notes` is how many a run has read."""

    word: str
    title: str
    weight: float | None = None
    notes: int | None = None


def options_of(project: Project) -> list[Option]:
    """Every backend, the models that are ready, and the newest runs whose readings can vote: ended, or imported."""
    backends = [Option(key, gettext(kind.title)) for key, kind in BACKENDS.items()]
    models = [Option(f"{OF_MODEL}{row.pk}", row.name, score_of(row)) for row in ready_models(project)]
    # Whoever is in a merged list votes for itself.
    rows = Author.objects.filter(project=project, kind__in=Author.MODELS, merged_from__isnull=True)
    rows = rows.exclude(run__job__state__in=LIVE)
    read = Count("annotation_sets", filter=Q(annotation_sets__state=AnnotationSet.State.SUBMITTED))
    authors = list(rows.annotate(read=read).filter(read__gt=0).order_by("-id").values_list("pk", "name", "read")[:RUNS])
    made = {
        run.author_id: run.model
        for run in Run.objects.filter(author__in=[pk for pk, *_ in authors]).select_related("model")
    }
    runs = [Option(f"{OF_RUN}{name}", name, score_of(made.get(pk)), notes) for pk, name, notes in authors]
    return [*backends, *models, *runs]


def score_of(model: TrainedModel | None) -> float | None:
    """Exact spans by label on the notes held out (F1); None where that is unknown."""
    found = headline(model.card) if model is not None else None
    return found["f1"] if found else None


def _voter(project: Project, word: str) -> Voter:
    if not word.startswith(OF_RUN):
        choice = chosen(project, word)
        return Voter(choice.stem, choice.backend, model=choice.model)
    return run_voter(project, word.removeprefix(OF_RUN))


def run_voter(project: Project, name: str) -> Voter:
    """The run called `name`, once it has ended. Raises ServiceError."""
    author = Author.objects.filter(project=project, kind__in=Author.MODELS, name=name).first()
    if author is None:
        raise ServiceError(gettext("this project has no run %(name)s") % {"name": repr(name)}, code="member")
    if author.merged_from is not None:
        raise ServiceError(
            gettext("%(name)s is a merged list of runs; take its runs themselves") % {"name": name}, code="member"
        )
    run = Run.objects.filter(author=author).select_related("job", "model").first()
    if run is not None and run.job is not None and run.job.state in LIVE:
        raise ServiceError(
            gettext("the run %(name)s is still at work; wait for its end or cancel it") % {"name": author.name},
            code="live",
        )
    return Voter(f"{OF_RUN}{author.name}", author=author, model=run.model if run else None)


def _check_members(voters: Sequence[Voter]) -> None:
    if len(voters) < LEAST:
        raise ServiceError(
            gettext("an ensemble needs at least %(least)s members; choose more") % {"least": LEAST}, code="members"
        )
    names = [voter.name for voter in voters]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ServiceError(
            gettext("a member votes once; given twice: %(choices)s") % {"choices": ", ".join(twice)}, code="members"
        )


def weight_of(word: str) -> float | None:
    """A weight as people write it; None where nothing is written. Raises ServiceError."""
    if not word.strip():
        return None
    try:
        return float(word)
    except ValueError:
        raise ServiceError(
            gettext("the weight %(word)s is no number") % {"word": repr(word[:20])}, code="weight"
        ) from None


def _weight(voter: Voter, given: float | None) -> float:
    """The weight given, else the score on the notes held out."""
    weight = score_of(voter.model) if given is None else given
    if weight is None:
        raise ServiceError(
            gettext("%(name)s was never scored on held-out notes: give its weight") % {"name": voter.name},
            code="weight",
        )
    if not 0 < weight <= HEAVIEST:
        raise ServiceError(
            gettext("the weight %(weight)s of %(name)s can't be; it is above 0, at most %(heaviest)s")
            % {"weight": f"{weight:g}", "name": voter.name, "heaviest": f"{HEAVIEST:g}"},
            code="weight",
        )
    return weight
