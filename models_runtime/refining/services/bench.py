"""The bench: who caught which injected errors, by rule, and the errors behind each figure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db.models import Q, QuerySet
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext
from django.utils.translation import gettext as _

from annotations.core.access import Access
from annotations.core.bulk import batched
from annotations.core.services import ServiceError
from annotations.models import AnnotationSet, AnnotationSetState, Author, AuthorKind, JobState, Span
from annotations.text.spans import Span as DomainSpan
from models_runtime.models import InjectedError, InjectedRun, RefinedItem
from models_runtime.refining.rules import injection
from models_runtime.refining.rules.rules import InjectionRule
from models_runtime.refining.rules.systemic import PREFIX
from models_runtime.refining.selectors import BATCH, errors_in, frozen_gold, injection_of

# Who caught the injected errors: an author's annotation sets against the frozen gold and the errors put into it.


SUBMITTED: Final = AnnotationSetState.SUBMITTED


@dataclass(frozen=True)
class InjectionScore:
    """The figures of one author on an injected run. `left_out` notes have no submitted annotation set of the author."""

    run: InjectedRun
    author: Author
    notes: int
    left_out: int
    caught: injection.Caught

    def as_json(self) -> dict[str, Any]:
        figures = self.caught.as_json()
        figures["by_rule"] = {rule: figures["by_rule"][rule] for rule in self.run.rules if rule in figures["by_rule"]}
        return {
            "run": self.run.author.name, "author": self.author.name, "gold": self.run.gold_version.number,
            "notes": self.notes, "left_out": self.left_out, **figures,
        }  # fmt: skip


def authors_on(run: InjectedRun) -> "QuerySet[Author]":
    """Everybody but gold who has submitted annotation sets of notes of the run."""
    sets = AnnotationSet.objects.filter(document__in=run.gold_version.notes.values("document"), state=SUBMITTED)
    authors = Author.objects.filter(project=run.project_id, pk__in=sets.values("author"))
    return authors.exclude(kind=AuthorKind.GOLD)


def injection_for(access: Access, pk: int) -> InjectedRun:
    """A run of injected errors of the project. Raises Http404."""
    rows = InjectedRun.objects.select_related(
        "author", "gold_version__project", "job__created_by", "created_by", "project"
    )
    return get_object_or_404(rows, project=access.project, pk=pk)


def is_complete(run: InjectedRun) -> bool:
    """Whether all errors and annotation sets are written."""
    return run.injected is not None and run.job is not None and run.job.state == JobState.DONE


def require_complete(run: InjectedRun) -> None:
    """Raises ServiceError `unfinished`."""
    if not is_complete(run):
        message = _("The errors of “%(name)s” are not complete yet. Wait for its job.")
        raise ServiceError(message % {"name": run.author.name}, code="unfinished")


def score_authors(run: InjectedRun, authors: Sequence[Author]) -> list[InjectionScore]:
    """The figures of several authors, in their order. Gold is read once. Raises ServiceError `unfinished`."""
    notes, found = 0, {author.pk: (injection.Caught(), set[int]()) for author in authors}
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
    errors: dict[int, list[injection.Injection]]
    sets: dict[int, dict[int, list[DomainSpan]]]


def read_batches(run: InjectedRun, authors: Sequence[int]) -> Iterator[Batch]:
    """Read the run's notes and the authors' submitted annotation sets. Raises ServiceError `unfinished`."""
    require_complete(run)
    notes = list(run.gold_version.notes.order_by("document_id").values_list("document_id", flat=True))
    for some in batched(notes, BATCH):
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


KINDS: Final = ("all", "caught", "missed", "lost", "collateral")
MOST_AUTHORS: Final = 20
"""Columns of the bench at most: the newest refinements, then the annotators by name."""


def rule_name(rule: str) -> str:
    """The name of a rule for people; the rule itself if it has none."""
    if rule.startswith(PREFIX):
        return gettext("Systemic: %(name)s") % {"name": rule.removeprefix(PREFIX)}
    names = {injection.LOG: gettext("Rejected suggestions"), injection.CSV: gettext("Vocabulary of a CSV file")}
    return gettext(InjectionRule(rule).words) if rule in set(InjectionRule) else names.get(rule, rule)


def refiners_of(run: InjectedRun, authors: "QuerySet[Author]") -> list[Author]:
    """The refinements of the run, the newest first, and the people who submitted notes of it, among `authors`."""
    rows = authors_on(run).filter(pk__in=authors.values("pk"))
    rows = rows.filter(Q(kind=AuthorKind.ANNOTATOR) | Q(refinement__source=run.author_id))
    found = sorted(rows, key=lambda author: (author.kind == AuthorKind.ANNOTATOR, author.name))
    machines = sorted((one for one in found if one.kind != AuthorKind.ANNOTATOR), key=lambda one: -one.pk)
    return [*machines, *(one for one in found if one.kind == AuthorKind.ANNOTATOR)][:MOST_AUTHORS]


@dataclass(frozen=True)
class HeatMapCell:
    """A figure of the heat map: `kind` and `rule` name the errors behind it, which `author` left or caught."""

    author: Author
    kind: str
    rule: str
    share: injection.Share


def bench_of(run: InjectedRun, authors: Sequence[Author]) -> dict[str, list[Any]]:
    """The heat map: a column for each author, a row for each rule, and rows for all errors, lost and collateral.

    Raises ServiceError `unfinished`.
    """
    scores = score_authors(run, authors)
    return {
        "scores": scores,
        "rules": [
            [
                rule,
                [HeatMapCell(one.author, "all", rule, one.caught.rules.get(rule, injection.Share())) for one in scores],
            ]
            for rule in run.rules
        ],
        "total": [HeatMapCell(one.author, "all", "", one.caught.errors) for one in scores],
        "lost": [
            HeatMapCell(one.author, "lost", "", injection.Share(one.caught.lost, one.caught.errors.of))
            for one in scores
        ],
        "collateral": [HeatMapCell(one.author, "collateral", "", one.caught.collateral) for one in scores],
    }


@dataclass(frozen=True)
class BenchedError:
    """An injected error, or a changed gold span, in a note. `outcome` is None without an author."""

    note: int
    error: injection.Injection
    outcome: injection.InjectionOutcome | None = None


def row_of_error(one: BenchedError) -> list[Any]:
    """The row of an error, for its sentence."""
    return [one.note, "", [one.error.start, one.error.end, one.error.label], None]


def errors_behind(run: InjectedRun, author: Author | None, kind: str = "all", rule: str = "") -> list[BenchedError]:
    """The errors behind a figure, by note and place. Raises ServiceError `unfinished`.

    Without an author: all injected errors. With one: those in the notes that the author has submitted.
    """
    if author is None:
        rows = InjectedError.objects.filter(run=run, **({"rule": rule} if rule else {})).order_by("document", "start")
        return [BenchedError(row.document_id, injection_of(row)) for row in rows]
    found = []
    for batch in read_batches(run, [author.pk]):
        for note, spans in sorted(batch.sets[author.pk].items()):
            errors = batch.errors.get(note, [])
            if kind == "collateral":
                some: Iterator[injection.InjectionOutcome] = injection.collateral(batch.gold[note], errors, spans)
            else:
                some = (one for one in injection.outcomes(errors, spans) if _counts(one, kind))
            found += [BenchedError(note, one.error, one) for one in some if not rule or one.error.rule == rule]
    return found


def _counts(one: injection.InjectionOutcome, kind: str) -> bool:
    return {"caught": one.caught, "missed": not one.caught, "lost": one.lost}.get(kind, True)


def reasons_of(author: Author, found: Sequence[BenchedError]) -> dict[tuple[int, int, int, str], str]:
    """The reasons of a refinement for these annotations, by note, start, end and label; empty for people."""
    notes = {one.note for one in found}
    rows = RefinedItem.objects.filter(refinement__author=author, document__in=notes).exclude(reason="")
    return {
        (note, start, end, label): reason
        for note, start, end, label, reason in rows.values_list("document_id", "start", "end", "label", "reason")
    }
