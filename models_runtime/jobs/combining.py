"""An ensemble at work: members that are backends read the notes, those that are runs have read them already."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from annotations.domain.spans import Span as DomainSpan
from annotations.domain.voting import Member, Method
from annotations.models import AnnotationSet, Author, Document, Project, Span
from annotations.selectors.labels import accepted_labels
from annotations.services.errors import ServiceError
from models_runtime.backends.base import Backend, Budget, budget_of
from models_runtime.backends.ensemble import EnsembleBackend, Votes
from models_runtime.jobs.model_files import load_backend, load_model
from models_runtime.models import OF_MODEL, Run, TrainedModel
from models_runtime.registry import ENSEMBLE

Read = Callable[[Sequence[Document]], list[list[DomainSpan]]]


class Combined:
    """An ensemble with members that are runs: each of `readers` gives its member's reading of a batch of notes."""

    def __init__(self, votes: Votes, readers: Sequence[Read], budget: Budget) -> None:
        self._votes, self._readers, self.budget = votes, readers, budget
        self.revision = votes.revision

    def read(self, notes: Sequence[Document]) -> list[list[DomainSpan]]:
        """The outcome for each note."""
        return self._votes.outcomes([read(notes) for read in self._readers])


def combined(row: Run) -> EnsembleBackend | Combined:
    """The ensemble that a run's row describes, with each member's revision noted in `row.params`.

    Raises ServiceError, LookupError and BackendError as its members do.
    """
    project, method, asked = row.project, Method(row.params["method"]), row.params["members"]
    codes, _ = accepted_labels(project)
    members = [Member(each["name"], float(each.get("weight", 1.0))) for each in asked]
    sources = [_author(project, each) if "author" in each else _backend(project, each["backend"]) for each in asked]
    revisions = [_revision(source) for source in sources]
    row.params |= {"members": [each | {"revision": said} for each, said in zip(asked, revisions, strict=True)]}
    backends = [source for source in sources if not isinstance(source, Author)]
    if len(backends) == len(sources):
        return EnsembleBackend(members, backends, method=method, label_set=project.label_set.key, codes=codes)
    votes = Votes(members, revisions, method=method, codes=codes)
    return Combined(votes, [_reader(source) for source in sources], budget_of(*sources))


def models_behind(run: Run) -> list[TrainedModel]:
    """The trained models that a run's proposals come from: its own, or those of an ensemble's members, through runs."""
    if run.model is not None:
        return [run.model]
    members = run.params.get("members", []) if run.backend == ENSEMBLE else []
    own = [each["backend"].removeprefix(OF_MODEL) for each in members if each.get("backend", "").startswith(OF_MODEL)]
    found = list(TrainedModel.objects.filter(project=run.project_id, pk__in=own).select_related("gold_version"))
    authors = [each["author"] for each in members if "author" in each]
    for one in Run.objects.filter(author__in=authors).select_related("model__gold_version", "project"):
        found += models_behind(one)
    return found


def _revision(source: Backend | Author) -> str:
    if not isinstance(source, Author):
        return source.revision
    run = Run.objects.filter(author=source).first()
    return f"run-{source.pk}" + (f"-{run.revision}" if run else "")


def _reader(source: Backend | Author) -> Read:
    if isinstance(source, Author):
        return lambda notes: _kept(source, notes)
    return lambda notes: source.predict([note.text for note in notes])


def _backend(project: Project, key: str) -> Backend:
    if not key.startswith(OF_MODEL):
        return load_backend(key, project, {})
    rows = TrainedModel.objects.filter(project=project, pk=key.removeprefix(OF_MODEL))
    model = rows.select_related("project__label_set").first()
    if model is None:
        raise ServiceError("a member of this ensemble is gone; start a new run without it", code="model")
    return load_model(model)


def _author(project: Project, params: dict[str, Any]) -> Author:
    author = Author.objects.filter(project=project, pk=params["author"]).first()
    if author is None:
        raise ServiceError("a run that is a member of this ensemble is gone; start a new one without it", code="run")
    return author


def _kept(author: Author, notes: Sequence[Document]) -> list[list[DomainSpan]]:
    """What the run's readings of these notes say, by one query."""
    found: defaultdict[int, list[DomainSpan]] = defaultdict(list)
    rows = Span.objects.filter(
        annotation_set__author=author,
        annotation_set__state=AnnotationSet.State.SUBMITTED,
        annotation_set__document__in=notes,
    ).order_by("start", "end", "id")
    for note, start, end, code, confidence in rows.values_list(
        "annotation_set__document", "start", "end", "label__code", "confidence"
    ):
        found[note].append(DomainSpan(start, end, code, confidence))
    return [found[note.pk] for note in notes]
