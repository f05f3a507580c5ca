"""Start ensembles: choose and check members, weights and notes. For the voting see annotations.text.combining."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Count, Q
from django.utils.translation import gettext
from django.utils.translation import gettext as _

from annotations.core.services import ServiceError
from annotations.jobs.services.queue import LIVE
from annotations.models import AnnotationSet, AnnotationSetState, Author, Document, JobState, Project, User
from annotations.release.selectors.known import anything_known
from annotations.text.combining import LEAST, Method
from models_runtime.core.registry import BACKENDS, ENSEMBLE, KNOWN, MERGED, RULES_BACKEND, has_rule_features
from models_runtime.core.stages import stages
from models_runtime.models import OF_MODEL, Refinement, Run, RunItem, TrainedModel
from models_runtime.runs.services import backends
from models_runtime.runs.services.runs import started
from models_runtime.training.services.model_cards import headline

OF_RUN: Final = "run:"
# The number of runs that the page offers; a command accepts any run.
RUNS: Final = 30
HEAVIEST: Final = 1000.0


@dataclass(frozen=True)
class MemberChoice:
    """A chosen member: a backend's key, `model:ID`, a model's name, or `run:NAME`.

    If `weight` is None, the member's score is its weight.
    """

    spec: str
    weight: float | None = None


@dataclass(frozen=True)
class Voter:
    """A member that can vote: a backend that annotates the notes, or the author of a finished run.

    `model` is the trained model behind it, if any; its score on the hold-out is the default weight. `rules`: it is the
    rules, or a run of them. `has_rules`: its model has their tags as features. Both look through refinements of a run.
    """

    name: str
    backend: str = ""
    author: Author | None = None
    model: TrainedModel | None = None
    rules: bool = False
    has_rules: bool = False

    @property
    def number(self) -> int:
        """The id of a run's author; 0 for a backend."""
        return self.author.pk if self.author else 0

    def as_params(self, weight: float | None) -> dict[str, Any]:
        """Return the member as the run's parameters store it."""
        params: dict[str, Any] = {"name": self.name}
        params |= {"author": self.author.pk} if self.author else {"backend": self.backend}
        return params | ({"weight": weight} if weight is not None else {})


def start_ensemble(
    *, project: Project, members: Sequence[MemberChoice], method: str, actor: User | None, name: str = "", key: str,
    wanted: backends.ThresholdGoal = backends.NOTHING,
) -> Run:  # fmt: skip
    """Start a run in which members vote, over the notes that all members that are runs have annotated.

    A repeated call with the same `key` returns the same run. Raises ServiceError for too few members, a duplicate, an
    unknown member, a run in progress, labels that the project doesn't have, a missing or invalid weight, a name that
    exists, no note that all members have annotated, and a threshold with members that give no probabilities.
    """
    voters = [_voter(project, member.spec.strip()) for member in members]
    _check_members(voters)
    weights: list[float | None] = [None] * len(voters)
    if method == Method.WEIGHTED:
        weights = [_weight(voter, member.weight) for voter, member in zip(voters, members, strict=True)]
    authors = [voter.author.pk for voter in voters if voter.author]
    stored = [voter.as_params(weight) for voter, weight in zip(voters, weights, strict=True)]
    params = {"method": str(method), "members": stored, "left_out": left_out(project, authors)}
    if repeated := rules_again(voters):
        params["rules_again"] = repeated
    threshold = backends.ensemble_params([(voter.name, voter.backend, voter.model) for voter in voters], wanted)
    params |= threshold
    stem = f"{ENSEMBLE}-{method}"
    choice = backends.ChosenBackend(ENSEMBLE, None, backends.named(stem, threshold["threshold"]) if threshold else stem)
    return started(project=project, choice=choice, actor=actor, name=name, params=params, key=key, read_by=authors)


def left_out(project: Project, authors: Sequence[int]) -> int:
    """Count the project's notes that not all of these authors have annotated."""
    notes = Document.objects.filter(project=project)
    annotated = notes
    for author in authors:
        done = AnnotationSet.objects.filter(author=author, state=AnnotationSetState.SUBMITTED)
        annotated = annotated.filter(pk__in=done.values("document"))
    return notes.count() - annotated.count() if authors else 0


@dataclass(frozen=True)
class Option:
    """A possible member. `weight` is its score; `notes` is the number of notes that a run has annotated.

    `has_rules`: its model has the tags of the rules as features.
    """

    spec: str
    title: str
    weight: float | None = None
    notes: int | None = None
    has_rules: bool = False


def options_of(project: Project) -> list[Option]:
    """List the backends that have something to find, the ready models, and the newest finished or imported runs."""
    offered = {key: kind for key, kind in BACKENDS.items() if key != KNOWN or anything_known(project)}
    built_in = [Option(key, gettext(kind.title)) for key, kind in offered.items()]
    models = [
        Option(f"{OF_MODEL}{row.pk}", row.name, score_of(row), has_rules=has_rules(row))
        for row in backends.ready_models(project)
    ]
    # Merged lists are left out, because their members can vote themselves.
    rows = Author.objects.filter(project=project, kind__in=Author.MODELS, merged_from__isnull=True)
    rows = rows.exclude(run__job__state__in=LIVE)
    sets = Count("annotation_sets", filter=Q(annotation_sets__state=AnnotationSetState.SUBMITTED))
    authors = list(rows.annotate(sets=sets).filter(sets__gt=0).order_by("-id").values_list("pk", "name", "sets")[:RUNS])
    run_of = runs_behind([pk for pk, *_ in authors])
    model_of = {pk: run.model for pk, run in run_of.items()}
    score = {pk: score_of(run.model) for pk, run in run_of.items() if run.author_id == pk}
    runs = [
        Option(f"{OF_RUN}{name}", name, score.get(pk), notes, has_rules(model_of.get(pk)))
        for pk, name, notes in authors
    ]
    return [*built_in, *models, *runs]


def score_of(model: TrainedModel | None) -> float | None:
    """Return F1 of exact spans by label on the hold-out, or None if it is unknown."""
    found = headline(model.card) if model is not None else None
    return found["f1"] if found else None


def has_rules(model: TrainedModel | None) -> bool:
    """Whether the model, or an earlier stage of it, has the tags of the rules as features."""
    own = [model] if model is not None else []
    found = stages(model) if model is not None and "base_model" in model.params else own
    return any(has_rule_features(one.backend, one.params.get("settings", {})) for one in found)


def rules_again(voters: Sequence[Voter]) -> list[str]:
    """Name the members that have the tags of the rules as features, if the rules are a member as well.

    An error of the rules then has more than one vote. Members that are ensembles themselves are not looked into.
    """
    return [voter.name for voter in voters if voter.has_rules] if any(voter.rules for voter in voters) else []


def _voter(project: Project, spec: str) -> Voter:
    if not spec.startswith(OF_RUN):
        choice = backends.chosen(project, spec)
        return Voter(
            choice.stem,
            choice.backend,
            model=choice.model,
            rules=choice.backend == RULES_BACKEND,
            has_rules=has_rules(choice.model),
        )
    return run_voter(project, spec.removeprefix(OF_RUN))


def runs_behind(authors: Iterable[int]) -> dict[int, Run]:
    """Return the run of each of these authors by the author's id; of a refined one, the run that was refined."""
    source_of = dict(Refinement.objects.filter(author__in=authors).values_list("author_id", "source_id"))
    wanted = {author: source_of.get(author, author) for author in authors}
    rows = Run.objects.filter(author__in=set(wanted.values())).select_related("job", "model")
    found = {run.author_id: run for run in rows}
    return {author: found[source] for author, source in wanted.items() if source in found}


def run_voter(project: Project, name: str) -> Voter:
    """Return the run with this name. Raises ServiceError `member` or `live` (a run in progress)."""
    author = Author.objects.filter(project=project, kind__in=Author.MODELS, name=name).first()
    if author is None:
        raise ServiceError(
            gettext("This project has no run “%(name)s”. Choose from the list of runs.") % {"name": name}, code="member"
        )
    if author.merged_from is not None:
        raise ServiceError(
            gettext("“%(name)s” is a merged list of runs. Choose its runs instead.") % {"name": name}, code="member"
        )
    run = runs_behind([author.pk]).get(author.pk)
    own = run if run is not None and run.author_id == author.pk else None
    if own is not None and own.job is not None and own.job.state in LIVE:
        message = gettext("The run “%(name)s” is still in progress. Wait until it ends, or cancel it.")
        raise ServiceError(message % {"name": author.name}, code="live")
    return Voter(
        f"{OF_RUN}{author.name}",
        author=author,
        model=own.model if own else None,
        rules=run is not None and run.backend == RULES_BACKEND,
        has_rules=has_rules(run.model) if run else False,
    )


def _check_members(voters: Sequence[Voter]) -> None:
    if len(voters) < LEAST:
        raise ServiceError(
            gettext("An ensemble needs at least %(least)s members. Choose more.") % {"least": LEAST}, code="members"
        )
    names = [voter.name for voter in voters]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        message = gettext("Each member can vote only once. Remove the duplicates of: %(choices)s.")
        raise ServiceError(message % {"choices": ", ".join(twice)}, code="members")


def weight_of(text: str) -> float | None:
    """Parse a weight; None if the text is empty. Raises ServiceError `weight`."""
    if not text.strip():
        return None
    try:
        return float(text)
    except ValueError:
        message = gettext("The weight “%(weight)s” is not a number. Enter a number above 0.")
        raise ServiceError(message % {"weight": text[:20]}, code="weight") from None


def _weight(voter: Voter, given: float | None) -> float:
    """Return the given weight, or by default the score on the hold-out."""
    weight = score_of(voter.model) if given is None else given
    if weight is None:
        message = gettext("“%(name)s” has no score on held-out notes. Enter its weight.")
        raise ServiceError(message % {"name": voter.name}, code="weight")
    if not 0 < weight <= HEAVIEST:
        raise ServiceError(
            gettext("The weight of “%(name)s” can't be %(weight)s. Enter a number above 0 and at most %(heaviest)s.")
            % {"weight": f"{weight:g}", "name": voter.name, "heaviest": f"{HEAVIEST:g}"},
            code="weight",
        )
    return weight


# Merge several finished runs into one list of suggestions, to review them together (annotations.text.combining).


MOST = 20
STANDS = (*LIVE, JobState.DONE)


def review_together(*, project: Project, runs: Sequence[str], actor: User | None, name: str = "", key: str) -> Run:
    """Merge the runs with these names into one list, for the notes that all of them have annotated.

    If the same runs were already merged and have annotated no note since, return that list, so that its review
    continues. Raises ServiceError for too few or too many runs, a duplicate, an unknown run, a run in progress, a
    merged list among the runs, a name that exists, and no note that all runs have annotated.
    """
    names = [word.strip() for word in runs]
    if twice := sorted({word for word in names if names.count(word) > 1}):
        message = _("Each run can be chosen only once. Remove the duplicates of: %(choices)s.")
        raise ServiceError(message % {"choices": ", ".join(twice)}, code="runs")
    if not LEAST <= len(names) <= MOST:
        message = _("Choose %(least)s to %(most)s runs to review together.")
        raise ServiceError(message % {"least": LEAST, "most": MOST}, code="runs")
    voters = sorted((run_voter(project, word) for word in names), key=lambda voter: voter.number)
    authors = [voter.number for voter in voters]
    missing = left_out(project, authors)
    existing = _same(project, authors, project.documents.count() - missing)
    if existing is not None:
        return existing
    params = {"method": MERGED, "members": [voter.as_params(None) for voter in voters], "left_out": missing}
    return started(
        project=project, choice=backends.ChosenBackend(ENSEMBLE, None, "together"), actor=actor, name=name, key=key,
        params=params, read_by=authors, merged_from=authors,
    )  # fmt: skip


def _same(project: Project, authors: Sequence[int], notes: int) -> Run | None:
    """Return the newest merged list of exactly these runs, if it has all notes that they have annotated by now."""
    rows = Run.objects.filter(project=project, author__merged_from=list(authors), job__state__in=STANDS)
    run = rows.order_by("-pk").first()
    return run if run is not None and RunItem.objects.filter(run=run).count() == notes else None
