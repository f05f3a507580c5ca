"""Build the index for annotation sets before a release, and measure it (Singh et al. 2025, appendix A.7)."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Final

from annotations.core.errors import ServiceError
from annotations.core.sealing import Key, project_key
from annotations.gold.services.sets import SetChoice, wanted_set
from annotations.models import (
    AnnotationSet,
    AnnotationSetState,
    Document,
    GoldVersionNote,
    Project,
    ReleasePolicy,
    SurrogateEntity,
    SurrogateMention,
)
from annotations.models import Span as SpanRow
from annotations.release.rules.redaction.kinds import IdentifierType, kinds_of
from annotations.release.rules.redaction.policy import Action, Policy
from annotations.release.rules.redaction.released import Mention
from annotations.release.rules.redaction.shipped import rules_for
from annotations.release.rules.surrogates.measures import Replaced, measure
from annotations.release.rules.surrogates.pipeline import Surrogate
from annotations.release.selectors.surrogates import in_parts, opened, surrogate_of
from annotations.release.services.surrogates.makers import Params
from annotations.release.services.surrogates.making import NoteMentions, Place, surrogates_for
from annotations.release.services.surrogates.originals import Originals
from annotations.release.services.surrogates.patients import mentioned
from annotations.text.spans import Span, stretches

POLICY: Final = "surrogate"
BATCH: Final = 100
"""Notes at a time; a patient with more of them has a batch of their own."""


def build(*, project: Project, set_spec: str, maker: Params | None = None) -> dict[str, Any]:
    """Give all mentions of an annotation set an entity of the index. Return the number of notes, and the measures.

    The labels are those that the policy `surrogate` replaces by surrogates. Raises ServiceError `set` or `version` for
    unknown annotations, `empty` without notes.
    """
    wanted = wanted_set(project, set_spec)
    batches = _Batches(project, wanted)
    if not batches.notes:
        raise ServiceError("No note has these annotations. Nothing was built.", code="empty")
    originals = Originals(project_key(project))
    for batch in batches:
        originals.add(batch)
    rows: list[Replaced] = []
    for batch in batches:
        found = surrogates_for(project=project, notes=batch, maker=maker, avoid=originals)
        rows += replaced(project, batch, found)
    return {"notes": len(batches.notes), **measure(rows).as_dict()}


def kinds_with_surrogates(project: Project) -> dict[str, IdentifierType]:
    """The kind of each label that gets surrogates: by the newest policy `surrogate` that was saved, else as shipped."""
    saved = ReleasePolicy.objects.filter(project=project, slug=POLICY).order_by("-version").first()
    if saved is None:
        rules = rules_for(POLICY, kinds_of(project.label_set.key))
    else:
        rules = dict(Policy.read(saved.rules).rules)
    return {code: rule.kind for code, rule in rules.items() if rule.action == Action.SURROGATE}


def replaced(project: Project, notes: Sequence[NoteMentions], found: dict[Place, str]) -> list[Replaced]:
    """The mentions of notes with what was written for them, for the measures."""
    key = project_key(project)
    owners: dict[Place, int] = {}
    for some in in_parts(sorted(note.document for note in notes)):
        mentions = SurrogateMention.objects.filter(document__in=some, entity__project=project).order_by()
        for document, start, end, entity in mentions.values_list("document_id", "start", "end", "entity_id"):
            owners[Place(document, start, end)] = entity
    surrogates = _surrogates(key, project, set(owners.values()))
    rows = []
    for note in notes:
        for one in note.mentions:
            place = Place(note.document, one.start, one.end)
            if place in found and owners.get(place) in surrogates:
                here = mentioned(note.document, note.text, one)
                entity = owners[place]
                rows.append(Replaced(entity, here, found[place], surrogates[entity], note.language))
    return rows


def _surrogates(key: Key, project: Project, entities: set[int]) -> dict[int, Surrogate]:
    found = {}
    for some in in_parts(sorted(entities)):
        for row in SurrogateEntity.objects.filter(project=project, pk__in=some).order_by():
            found[row.pk] = surrogate_of(row, opened(key, row))
    return found


class _Batches:
    """The notes of an annotation set with their mentions, in batches of whole patients. Reads each batch anew."""

    def __init__(self, project: Project, wanted: SetChoice) -> None:
        self._project, self._wanted = project, wanted
        self._kinds = kinds_with_surrogates(project)
        rows = Document.objects.filter(project=project, pk__in=self._covered()).order_by("patient_id", "pk")
        self.notes = list(rows.values_list("patient_id", "pk"))

    def _covered(self) -> Any:
        if self._wanted.version is not None:
            return GoldVersionNote.objects.filter(version=self._wanted.version).values("document")
        sets = AnnotationSet.objects.filter(author=self._wanted.author, state=AnnotationSetState.SUBMITTED)
        return sets.values("document")

    def __iter__(self) -> Iterator[list[NoteMentions]]:
        batch: list[int] = []
        for patient, group in groupby(self.notes, key=lambda row: row[0]):
            own = [pk for _patient, pk in group]
            parts = [own] if patient else [[pk] for pk in own]
            for part in parts:
                if batch and len(batch) + len(part) > BATCH:
                    yield self._read(batch)
                    batch = []
                batch += part
        if batch:
            yield self._read(batch)

    def _read(self, ids: Sequence[int]) -> list[NoteMentions]:
        spans = self._spans(ids)
        notes = Document.objects.filter(pk__in=ids).order_by("patient_id", "pk")
        return [
            NoteMentions(
                note.pk,
                note.patient_id,
                note.language or self._project.language,
                note.text,
                [
                    Mention(start, end, label, self._kinds[label], note.text[start:end])
                    for start, end, label in stretches(spans.get(note.pk, ()))
                    if label in self._kinds
                ],
            )
            for note in notes
        ]

    def _spans(self, ids: Sequence[int]) -> dict[int, list[Span]]:
        found: dict[int, list[Span]] = {}
        if self._wanted.version is not None:
            frozen = GoldVersionNote.objects.filter(version=self._wanted.version, document__in=ids).order_by()
            for pk, spans in frozen.values_list("document_id", "spans"):
                found[pk] = [Span(start, end, code) for start, end, code, *_ in spans]
            return found
        rows = SpanRow.objects.filter(
            annotation_set__author=self._wanted.author,
            annotation_set__state=AnnotationSetState.SUBMITTED,
            annotation_set__document__in=ids,
        ).order_by()
        columns = ("annotation_set__document_id", "start", "end", "label__code")
        for pk, start, end, code in rows.values_list(*columns):
            found.setdefault(pk, []).append(Span(start, end, code))
        return found
