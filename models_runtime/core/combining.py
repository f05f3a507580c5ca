"""Execute ensembles: members that are backends annotate the notes, members that are runs have annotated them already.

A merged list of runs is executed in the same way. It is not a vote, and all its members are runs.
"""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from django.utils.translation import gettext

from annotations.core.services import ServiceError
from annotations.core.spans import pairs_of
from annotations.models import AnnotationSetState, Author, Document, Project, Span
from annotations.projects.selectors.labels import accepted_labels
from annotations.review.selectors.suggestions import is_doubtful
from annotations.text.attributes import doubtful
from annotations.text.combining import Method, VotingModel, merge
from annotations.text.spans import Span as DomainSpan
from annotations.text.spans import renamed
from models_runtime.backends.base import Backend, Budget, OfPatients, budget_of
from models_runtime.backends.ensemble import EnsembleBackend, Votes
from models_runtime.core.model_files import load_backend, load_model
from models_runtime.core.registry import ENSEMBLE, MERGED
from models_runtime.models import OF_MODEL, Refinement, Run, TrainedModel

Predict = Callable[[Sequence[Document]], list[list[DomainSpan]]]


class CombinedBackend:
    """An ensemble with members that are runs, or that know patients.

    Each of `predictors` returns one member's spans for a batch of notes.
    """

    def __init__(self, votes: "Votes | RunMerger", predictors: Sequence[Predict], budget: Budget) -> None:
        self._votes, self._predictors, self.budget = votes, predictors, budget
        self.revision = votes.revision

    def predict(self, notes: Sequence[Document]) -> list[list[DomainSpan]]:
        """Return the ensemble's spans for each note."""
        return self._votes.outcomes([predict(notes) for predict in self._predictors])


def combined(row: Run) -> EnsembleBackend | CombinedBackend:
    """Make the ensemble of a run, and store each member's revision in `row.params`.

    Raises ServiceError, LookupError and BackendError, as loading its members does.
    """
    project, wanted = row.project, row.params["members"]
    codes, _ = accepted_labels(project)
    sources = [_author(project, each) if "author" in each else _backend(project, each["backend"]) for each in wanted]
    revisions = [_revision(source) for source in sources]
    row.params |= {"members": [each | {"revision": one} for each, one in zip(wanted, revisions, strict=True)]}
    if row.params["method"] == MERGED:
        authors = [source for source in sources if isinstance(source, Author)]
        merging = RunMerger([author.name for author in authors], revisions, codes)
        return CombinedBackend(merging, [partial(_stored, each, doubts=True) for each in authors], budget_of(*authors))
    method = Method(row.params["method"])
    members = [VotingModel(each["name"], float(each.get("weight", 1.0))) for each in wanted]
    backends = [source for source in sources if not isinstance(source, Author)]
    if len(backends) == len(sources) and not any(isinstance(backend, OfPatients) for backend in backends):
        return EnsembleBackend(members, backends, method=method, label_set=project.label_set.key, codes=codes)
    votes = Votes(members, revisions, method=method, codes=codes)
    predictors = [
        partial(_stored, source) if isinstance(source, Author) else partial(spans_of, source) for source in sources
    ]
    return CombinedBackend(votes, predictors, budget_of(*sources))


class RunMerger:
    """Merges the suggestions of the runs `names` into one list; each span names the runs that suggested it."""

    def __init__(self, names: Sequence[str], revisions: Sequence[str], codes: Mapping[str, str]) -> None:
        self._names, self._codes = list(names), codes
        members = json.dumps([list(pair) for pair in zip(names, revisions, strict=True)])
        self.revision = f"1-{MERGED}-{hashlib.sha256(members.encode()).hexdigest()[:16]}"

    def outcomes(self, columns: Sequence[Sequence[Sequence[DomainSpan]]]) -> list[list[DomainSpan]]:
        """Return the merged list for each note; `columns[i]` has the suggestions of the i-th run for each note."""
        return [
            [*merge(self._names, [renamed(annotation_set, self._codes) for annotation_set in annotation_sets])]
            for annotation_sets in zip(*columns, strict=True)
        ]


def models_behind(run: Run) -> list[TrainedModel]:
    """List the trained models that a run's suggestions come from: its own model, or those of its members.

    A refined member's suggestions come from the run that was refined.
    """
    if run.model is not None:
        return [run.model]
    members = run.params.get("members", []) if run.backend == ENSEMBLE else []
    own = [each["backend"].removeprefix(OF_MODEL) for each in members if each.get("backend", "").startswith(OF_MODEL)]
    found = list(TrainedModel.objects.filter(project=run.project_id, pk__in=own).select_related("gold_version"))
    authors = [each["author"] for each in members if "author" in each]
    authors += Refinement.objects.filter(author__in=authors).values_list("source", flat=True)
    for one in Run.objects.filter(author__in=authors).select_related("model__gold_version", "project"):
        found += models_behind(one)
    return found


def _revision(source: Backend | Author) -> str:
    if not isinstance(source, Author):
        return source.revision
    run = Run.objects.filter(author=source).first()
    return f"run-{source.pk}" + (f"-{run.revision}" if run else "")


def spans_of(backend: Backend, notes: Sequence[Document]) -> list[list[DomainSpan]]:
    """Return a backend's spans for each note; a backend that knows patients gets their ids too."""
    if isinstance(backend, OfPatients):
        return backend.predict_notes([(note.patient_id, note.text) for note in notes])
    return backend.predict([note.text for note in notes])


def _backend(project: Project, key: str) -> Backend:
    if not key.startswith(OF_MODEL):
        return load_backend(key, project, {})
    rows = TrainedModel.objects.filter(project=project, pk=key.removeprefix(OF_MODEL))
    model = rows.select_related("project__label_set").first()
    if model is None:
        raise ServiceError(
            gettext("A model of this ensemble no longer exists. Start a new run without this model."), code="model"
        )
    return load_model(model)


def _author(project: Project, params: dict[str, Any]) -> Author:
    author = Author.objects.filter(project=project, pk=params["author"]).first()
    if author is None:
        raise ServiceError(gettext("A run of this ensemble no longer exists. Start a new run without it."), code="run")
    return author


def _stored(author: Author, notes: Sequence[Document], *, doubts: bool = False) -> list[list[DomainSpan]]:
    """Return the run's stored spans for these notes, by one query. `doubts`: doubtful ones with their doubts."""
    found: defaultdict[int, list[DomainSpan]] = defaultdict(list)
    rows = Span.objects.filter(
        annotation_set__author=author,
        annotation_set__state=AnnotationSetState.SUBMITTED,
        annotation_set__document__in=notes,
    ).order_by("start", "end", "id")
    columns = ("annotation_set__document", "start", "end", "label__code", "confidence", "source")
    for note, start, end, code, confidence, source, provenance, attributes in rows.values_list(
        *columns, "provenance", "attributes"
    ):
        span = DomainSpan(start, end, code, confidence, source, attributes=pairs_of(attributes))
        found[note].append(doubtful(span, provenance) if doubts and provenance and is_doubtful(provenance) else span)
    return [found[note.pk] for note in notes]
