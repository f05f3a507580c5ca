"""Who caught the injected errors: an author's annotation sets against the frozen gold and the errors put into it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.models import AnnotationSet, AnnotationSetState, Author, AuthorKind, JobState, Project, Span
from annotations.text.spans import Span as DomainSpan
from models_runtime.models import InjectedRun
from models_runtime.refining.rules.injection import Injection
from models_runtime.refining.rules.scoring import Caught
from models_runtime.refining.selectors.injecting import BATCH, errors_in, frozen_gold

SUBMITTED: Final = AnnotationSetState.SUBMITTED


@dataclass(frozen=True)
class InjectionScore:
    """The figures of one author on an injected run. `left_out` notes have no submitted annotation set of the author."""

    run: InjectedRun
    author: Author
    notes: int
    left_out: int
    caught: Caught

    def as_json(self) -> dict[str, Any]:
        figures = self.caught.as_json()
        figures["by_rule"] = {rule: figures["by_rule"][rule] for rule in self.run.rules if rule in figures["by_rule"]}
        return {
            "run": self.run.author.name, "author": self.author.name, "gold": self.run.gold_version.number,
            "notes": self.notes, "left_out": self.left_out, **figures,
        }  # fmt: skip


def find_injected(project: Project, name: str) -> InjectedRun:
    """The injected run with this name. Raises ServiceError `run`, which lists the runs."""
    rows = InjectedRun.objects.filter(project=project).select_related("author", "gold_version__project", "project")
    found = rows.filter(author__name=name).first()
    if found is None:
        known = ", ".join(rows.order_by("pk").values_list("author__name", flat=True)) or _("none yet")
        raise ServiceError(
            _("There is no run of injected errors “%(name)s”. Runs: %(known)s.") % {"name": name, "known": known},
            code="run",
        )
    return found


def find_refiner(run: InjectedRun, name: str) -> Author:
    """The author with this name, other than gold, who has notes of the run. Raises ServiceError `author`."""
    rows = authors_on(run)
    found = rows.filter(name=name).order_by("-pk").first()
    if found is None:
        known = ", ".join(sorted(set(rows.values_list("name", flat=True)))) or _("none yet")
        raise ServiceError(
            _("No author “%(name)s” has submitted notes of “%(run)s”. Authors: %(known)s.")
            % {"name": name, "run": run.author.name, "known": known},
            code="author",
        )
    return found


def authors_on(run: InjectedRun) -> "QuerySet[Author]":
    """Everybody but gold who has submitted annotation sets of notes of the run."""
    sets = AnnotationSet.objects.filter(document__in=run.gold_version.notes.values("document"), state=SUBMITTED)
    authors = Author.objects.filter(project=run.project_id, pk__in=sets.values("author"))
    return authors.exclude(kind=AuthorKind.GOLD)


def is_complete(run: InjectedRun) -> bool:
    """Whether all errors and annotation sets are written."""
    return run.injected is not None and run.job is not None and run.job.state == JobState.DONE


def require_complete(run: InjectedRun) -> None:
    """Raises ServiceError `unfinished`."""
    if not is_complete(run):
        raise ServiceError(
            _("The errors of “%(name)s” are not complete yet. Wait for its job.") % {"name": run.author.name},
            code="unfinished",
        )


def score_injection(run: InjectedRun, author: Author) -> InjectionScore:
    """Count what an author caught in the notes that the author has submitted. Raises ServiceError `unfinished`."""
    return score_authors(run, [author])[0]


def score_authors(run: InjectedRun, authors: Sequence[Author]) -> list[InjectionScore]:
    """The figures of several authors, in their order. Gold is read once. Raises ServiceError `unfinished`."""
    notes, found = 0, {author.pk: (Caught(), set[int]()) for author in authors}
    for batch in read_batches(run, list(found)):
        notes += len(batch.gold)
        for author, sets in batch.sets.items():
            caught, counted = found[author]
            counted.update(sets)
            for note, spans in sets.items():
                caught.add(batch.gold[note], batch.errors.get(note, []), spans)
    return [
        InjectionScore(run, author, len(found[author.pk][1]), notes - len(found[author.pk][1]), found[author.pk][0])
        for author in authors
    ]


@dataclass(frozen=True)
class Batch:
    """Some notes of an injected run: gold and errors by note; `sets` has the spans by author id and note."""

    gold: dict[int, list[DomainSpan]]
    errors: dict[int, list[Injection]]
    sets: dict[int, dict[int, list[DomainSpan]]]


def read_batches(run: InjectedRun, authors: Sequence[int]) -> Iterator[Batch]:
    """Read the run's notes and the authors' submitted annotation sets. Raises ServiceError `unfinished`."""
    require_complete(run)
    notes = list(run.gold_version.notes.order_by("document_id").values_list("document_id", flat=True))
    for at in range(0, len(notes), BATCH):
        some = notes[at : at + BATCH]
        sets = {
            pk: (author, note)
            for pk, author, note in AnnotationSet.objects.filter(
                author__in=authors, state=SUBMITTED, document__in=some
            ).values_list("pk", "author_id", "document_id")
        }
        found: dict[int, dict[int, list[DomainSpan]]] = {author: {} for author in authors}
        for author, note in sets.values():
            found[author][note] = []
        rows = Span.objects.filter(annotation_set__in=list(sets)).order_by()
        for annotation_set, start, end, code in rows.values_list("annotation_set_id", "start", "end", "label__code"):
            author, note = sets[annotation_set]
            found[author][note].append(DomainSpan(start, end, code))
        yield Batch(frozen_gold(run.gold_version, some), errors_in(run, some), found)
