"""What an injection reads, and the free texts and weights that are listed at an erasure."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from django.db.models import Count, QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _

from annotations.core.bulk import among, in_batches
from annotations.core.hooks import notes_learned_from
from annotations.core.services import ServiceError
from annotations.core.suggestions import ProposedRemoval
from annotations.models import Author, AuthorKind, Decision, Document, GoldVersion, GoldVersionNote, Project
from annotations.models import Span as StoredSpan
from annotations.ops.selectors.free_texts import FreeText, KeptWeights
from annotations.projects.selectors.labels import accepted_labels
from annotations.release.rules.redaction.policy import IdentifierType
from annotations.release.selectors.known import kinds_of_labels
from annotations.scores.selectors import label_words
from annotations.text.spans import Span
from models_runtime.backends.refining.state import DEFAULT_LANGUAGE, Skill, for_project, shipped, title_of
from models_runtime.backends.refining.todo import Action
from models_runtime.core.gold_sources import models_elsewhere
from models_runtime.models import (
    InjectedError,
    InjectedRun,
    Judging,
    RefinedItem,
    Refinement,
    ReviewSkill,
    Run,
    SystemicError,
    TrainedModel,
)
from models_runtime.refining.rules.injection import CSV, LOG, Injection, SpuriousSpans, Strategy, Term, Vocabulary
from models_runtime.refining.rules.rules import Labels
from models_runtime.refining.rules.systemic import PREFIX, RejectedAnnotation, Space, Systemic, examples_in

BATCH: Final = 200
MOST_REJECTIONS: Final = 20_000
"""Rejected suggestions that are read at most, the newest."""


def wanted_errors(run: InjectedRun) -> int:
    """How many errors to draw: at least one."""
    return max(1, math.floor(run.rate * run.gold_version.span_count + 0.5))


def gold_version(project: Project, number: int) -> GoldVersion:
    """The frozen gold version with this number. Raises ServiceError `gold`."""
    found = project.gold_versions.filter(number=number).first()
    if found is None:
        raise ServiceError(_("There is no frozen gold version with this number."), code="gold")
    return found


def labels_for(project: Project) -> Labels:
    """What the project's labels stand for. Of several labels of one kind, the rules write the first."""
    kinds = kinds_of_labels(project)
    codes: dict[IdentifierType, str] = {}
    for code, kind in kinds.items():
        codes.setdefault(kind, code)
    return Labels(kinds, codes)


def frozen_gold(version: GoldVersion, notes: Sequence[int]) -> dict[int, list[Span]]:
    """The version's spans of these notes, with today's label codes for merged labels."""
    merged = label_words(version.project).merged
    rows = GoldVersionNote.objects.filter(version=version, document__in=notes)
    return {
        note: sorted({Span(start, end, merged.get(code, code)) for start, end, code, *_ in spans})
        for note, spans in rows.values_list("document_id", "spans")
    }


def errors_in(row: InjectedRun, notes: Sequence[int]) -> dict[int, list[Injection]]:
    """The injected errors of these notes, by note; notes without one are missing."""
    found: defaultdict[int, list[Injection]] = defaultdict(list)
    for error in InjectedError.objects.filter(run=row, document__in=notes).order_by("document", "start"):
        found[error.document_id].append(injection_of(error))
    return dict(found)


def injection_of(row: InjectedError) -> Injection:
    return Injection(row.start, row.end, row.label, row.was, row.rule, Strategy(row.strategy))


Places = dict[int, list[tuple[int, int, str]]]
"""Start, end and label code of annotations, by note."""


def has_rejections(project: Project) -> bool:
    """Whether the decision log has a rejected suggestion."""
    return Decision.objects.filter(review__document__project=project, verdict=Decision.Verdict.REJECTED).exists()


def rejections(project: Project) -> list[RejectedAnnotation]:
    """The rejected suggestions that overlap no gold, with today's label codes.

    A suggestion that several runs made and that was rejected several times counts once. One that overlaps gold may
    have been rejected for the sake of that annotation, so that its string says nothing.
    """
    accepted, _ids = accepted_labels(project)
    rows = Decision.objects.filter(review__document__project=project, verdict=Decision.Verdict.REJECTED)
    columns = ("review__document_id", "suggestion__start", "suggestion__end", "suggestion__label__code")
    found: Places = defaultdict(list)
    for note, start, end, code in sorted(set(rows.order_by("-pk").values_list(*columns)[:MOST_REJECTIONS])):
        found[note].append((start, end, accepted.get(code, code)))
    return _examples(_off_gold(project, found))


def _off_gold(project: Project, found: Places) -> Places:
    """The places that overlap no annotation of gold."""
    gold: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
    rows = StoredSpan.objects.filter(
        annotation_set__author__project=project,
        annotation_set__author__kind=AuthorKind.GOLD,
        annotation_set__document__in=among(found),
    ).order_by()
    for note, start, end in rows.values_list("annotation_set__document_id", "start", "end"):
        gold[note].append((start, end))
    return {
        note: [one for one in places if not any(start < one[1] and one[0] < end for start, end in gold[note])]
        for note, places in found.items()
    }


def _examples(found: Places) -> list[RejectedAnnotation]:
    examples: list[RejectedAnnotation] = []
    for batch in in_batches(Document.objects.filter(pk__in=among(found)).values_list("pk", "text"), BATCH):
        for pk, text in batch:
            examples += examples_in(pk, text, found[pk])
    return examples


def terms_of(rejected: Iterable[RejectedAnnotation]) -> list[Term]:
    """The vocabulary of rejected suggestions: each string with its label and how often it was rejected."""
    counts = Counter((one.string, one.label) for one in rejected)
    return sorted(Term(string, label, count) for (string, label), count in counts.items())


def systemic_errors(project: Project) -> list[SystemicError]:
    """The accepted systemic errors by name, each with the number of its examples as `number`."""
    return list(systemic_rows(project).annotate(number=Count("examples")).order_by("name"))


def systemic_rows(project: Project) -> QuerySet[SystemicError]:
    return SystemicError.objects.filter(project=project).select_related("created_by")


def examples_of(error: SystemicError) -> list[RejectedAnnotation]:
    """The examples of an accepted systemic error whose notes are still there; none if its label is not."""
    accepted, _ids = accepted_labels(error.project)
    found: Places = defaultdict(list)
    if error.label in accepted:
        for note, start, end in error.examples.values_list("document_id", "start", "end"):
            found[note].append((start, end, accepted[error.label]))
    return _examples(found)


def sources_of(run: InjectedRun) -> list[SpuriousSpans]:
    """What makes errors of the run besides the ten rules. An accepted error that was removed meanwhile makes none."""
    sources: list[SpuriousSpans] = []
    names = [rule.removeprefix(PREFIX) for rule in run.rules if rule.startswith(PREFIX)]
    rejected = rejections(run.project) if names or LOG in run.rules else []
    space = Space(rejected)
    for error in SystemicError.objects.filter(project=run.project, name__in=names).select_related("project"):
        sources.append(Systemic(error.name, examples_of(error), space))
    if LOG in run.rules:
        sources.append(Vocabulary(LOG, terms_of(rejected)))
    if CSV in run.rules:
        accepted, _ids = accepted_labels(run.project)
        terms = (Term(string, accepted[code], count) for string, code, count in run.terms if code in accepted)
        sources.append(Vocabulary(CSV, terms))
    return sources


# The skills of a project: the shipped ones, and the project's own texts in all versions.


@dataclass(frozen=True)
class SkillItem:
    """Guidance for a group of labels. `version` counts the project's own texts; 0 for a shipped one.

    `labels` are codes; “*” stands for all. `off`: the text is empty, so that agents don't get it.
    """

    name: str
    title: str
    labels: list[str]
    version: int
    off: bool


def skills_of(project: Project, language: str = "") -> dict[str, Skill]:
    """The skills that an agent may load in this project, by name."""
    _, ids = accepted_labels(project)
    own = [_skill(row) for row in newest(project).values()]
    return for_project(ids, language or project.language or DEFAULT_LANGUAGE, own)


def skills_at(project: Project, wanted: Mapping[str, str], language: str) -> dict[str, Skill]:
    """The skills with these versions, such as `own-3`, by name. A shipped text is that of this release."""
    _, ids = accepted_labels(project)
    numbers = {
        name: int(version.removeprefix("own-")) for name, version in wanted.items() if version.startswith("own-")
    }
    rows = ReviewSkill.objects.filter(project=project, name__in=list(numbers))
    own = [_skill(row) for row in rows if row.version == numbers[row.name]]
    found = for_project(ids, language or DEFAULT_LANGUAGE, own)
    return {name: skill for name, skill in found.items() if name in wanted}


def newest(project: Project) -> dict[str, ReviewSkill]:
    """The newest version of each skill that the project has changed or added."""
    rows = ReviewSkill.objects.filter(project=project).order_by("name", "version")
    return {row.name: row for row in rows}


def known(project: Project) -> set[str]:
    """The names of the shipped skills, and of those that the project has added or changed."""
    own = ReviewSkill.objects.filter(project=project).values_list("name", flat=True)
    return {*shipped(project.language or DEFAULT_LANGUAGE), *own}


def described(project: Project) -> list[SkillItem]:
    """All skills that can be edited, in order of their names."""
    own, ready = newest(project), shipped(project.language or DEFAULT_LANGUAGE)
    _, ids = accepted_labels(project)
    found = []
    for name in sorted(known(project)):
        row = own.get(name)
        skill = _skill(row) if row and row.text.strip() else ready.get(name) or Skill(name, name, frozenset(), "", "")
        labels = sorted(skill.labels if "*" in skill.labels else skill.labels & set(ids))
        is_off = row is not None and not row.text.strip()
        found.append(SkillItem(name, skill.title, labels, row.version if row else 0, is_off))
    return found


def skill_versions(project: Project, name: str) -> list[ReviewSkill]:
    """All versions of the project's own text, the newest first."""
    rows = ReviewSkill.objects.filter(project=project, name=name)
    return list(rows.select_related("created_by").order_by("-version"))


@dataclass(frozen=True)
class SkillOut:
    """Guidance in Markdown, as it counts now. A shipped text is in the project's language, or in English."""

    name: str
    labels: list[str]
    text: str
    version: int


def present(project: Project, name: str) -> SkillOut:
    """A skill as it counts now. An unknown name has nothing, in version 0."""
    row = newest(project).get(name)
    if row is not None:
        return SkillOut(name, list(row.labels), row.text, row.version)
    skill = shipped(project.language or DEFAULT_LANGUAGE).get(name)
    if skill is None:
        return SkillOut(name, [], "", 0)
    _, ids = accepted_labels(project)
    return SkillOut(name, sorted(skill.labels if "*" in skill.labels else skill.labels & set(ids)), skill.text, 0)


def _skill(row: ReviewSkill) -> Skill:
    return Skill(row.name, title_of(row.name, row.text), frozenset(row.labels), row.text, f"own-{row.version}")


# What a refinement removed, for review.


def removed(author: Author, document: Document) -> list[ProposedRemoval]:
    """The annotations that this author removed from the note. Those whose label was deleted since are left out."""
    items = RefinedItem.objects.filter(refinement__author=author, document=document, action=Action.REMOVE)
    columns = ("number", "start", "end", "label", "reason", "refinement__source__kind", "refinement__source__name")
    rows = list(items.order_by("number").values_list(*columns))
    if not rows:
        return []
    accepted, ids = accepted_labels(author.project)
    return [
        ProposedRemoval(number, start, end, ids[accepted[label]], reason, f"{kind}:{name}")
        for number, start, end, label, reason, kind, name in rows
        if label in accepted
    ]


def notes_learned(author: Author) -> set[int]:
    """The ids of notes from which a model behind the refined suggestions learned: those of the refinement's source."""
    if author.kind != AuthorKind.REFINED:  # No query for all others.
        return set()
    row = Refinement.objects.filter(author=author).select_related("source__project").first()
    return set().union(*notes_learned_from(author=row.source)) if row else set()


# Free texts about runs, models and judges, listed at an erasure (annotations.ops.selectors.free_texts).


def free_texts(project: Project) -> Iterator[FreeText]:
    """List the names and prompts that people wrote."""
    slug = project.slug
    if runs := Author.objects.filter(project=project, kind__in=Author.MODELS).count():
        yield FreeText(_("Names of runs"), runs, reverse("runs", args=[slug]))
    for run in Run.objects.filter(project=project, params__has_key="prompt").select_related("author"):
        what = _("Prompt of the run %(name)s") % {"name": run.author.name}
        yield FreeText(what, 1, reverse("run", args=[slug, run.pk]))
    if skills := ReviewSkill.objects.filter(project=project).count():
        yield FreeText(_("Guidance for agents, in all versions"), skills, reverse("skills", args=[slug]))
    if reasons := RefinedItem.objects.filter(refinement__project=project).exclude(reason="").count():
        yield FreeText(_("Reasons of refiners for their decisions"), reasons, reverse("refinements", args=[slug]))
    if models := TrainedModel.objects.filter(project=project).count():
        yield FreeText(_("Names of trained models"), models, reverse("models", args=[slug]))
    for model in TrainedModel.objects.filter(project=project, card__has_key="probe"):
        what = _("Fill-mask probe of the model %(name)s, with its words") % {"name": model.name}
        yield FreeText(what, 1, reverse("model", args=[slug, model.pk]))
    for judging in Judging.objects.filter(project=project).exclude(prompt="").select_related("author", "gold_version"):
        what = _("Prompt of the judges of %(name)s, gold version %(number)s") % {
            "name": judging.author.name, "number": judging.gold_version.number
        }  # fmt: skip
        yield FreeText(what, 1, reverse("judging", args=[slug, judging.pk]))


# Models of other projects that learned from a project's gold (annotations.ops.selectors.free_texts).


def kept_weights(project: Project) -> Iterator[KeptWeights]:
    """List the models that still have weights."""
    for model in models_elsewhere(project):
        if model.stored_file_id is not None:
            slug = model.project.slug
            yield KeptWeights(model.name, reverse("model", args=[slug, model.pk]), model.project_id, slug)
