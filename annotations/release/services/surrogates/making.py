"""Surrogates for the mentions of notes, from the project's index (Singh et al. 2025, appendix A.6, algorithm 3).

The index is read and new surrogates are made outside any lock; then one transaction stores them. If another worker has
stored one of the same entities or surrogates meanwhile, nothing is stored, and the work starts again with what the
index holds now. So two workers that meet the same entity give it one surrogate.
"""

from collections.abc import Collection, Container, Mapping, Sequence
from typing import Final

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from annotations.core.bulk import insert_returning, insert_rows
from annotations.core.errors import ServiceError
from annotations.core.locks import advisory_lock, hold
from annotations.core.sealing import Key, project_key
from annotations.models import Document, Project, SurrogateEntity, SurrogateKey, SurrogateMention
from annotations.release.rules.surrogates.clustering import PEOPLE
from annotations.release.rules.surrogates.pipeline import Cluster
from annotations.release.selectors.surrogates import form_number, in_parts, kinds_with, named, opened, taken
from annotations.release.services.surrogates.erasing import keep_only_said
from annotations.release.services.surrogates.makers import MAKERS, Maker, Params, RulesMaker, maker_of
from annotations.release.services.surrogates.patients import (
    NoteMentions,
    Patient,
    Place,
    Where,
    patient_mentions,
    patients_of,
)
from annotations.release.services.surrogates.planning import Entity, Plan, Stored

__all__ = ["MAKERS", "NoteMentions", "Place", "surrogates_for"]

# The number of the lock between workers that change a project's index (annotations.core.locks).
_INDEX: Final = 0x6E02
Known = Mapping[str, Mapping[tuple[str, str], int]]
"""Entities of the index by digest, then by kind and scope (selectors.index.named)."""
TRIES: Final = 20
"""How often the work starts again because others stored the same entities."""


class NotNew(Exception):
    """Another worker has stored an entity or a surrogate that this one was about to store, or changed one."""


def surrogates_for(
    *, project: Project, notes: Sequence[NoteMentions], maker: Params | None = None, avoid: Container[str] = ()
) -> dict[Place, str]:
    """Return what to write in place of each mention, by note, start and end; new entities are added to the index.

    Give all notes of a patient in one call. The same mentions get the same surrogates in every call, until a person
    edits the index. `maker`: the stored parameters of a language model (services.makers); the rules without. `avoid`:
    folded names that no surrogate may be, such as the originals of a release (services.originals). Mentions of notes
    that were erased meanwhile are missing from the answer. It makes its own transactions; within a longer one, the
    index stays locked until that ends. Raises ServiceError.
    """
    made_by = maker_of(project, maker or {})
    key = project_key(project)
    patients = patients_of(key, notes, project.language)
    clusters = _clustered(project, key, made_by, patients)
    for _again in range(TRIES):
        plan = Plan(project, key, made_by, patients, clusters, avoid)
        plan.make()
        try:
            with transaction.atomic():
                present = _store(plan)
        except (IntegrityError, NotNew):
            continue
        return plan.written(present)
    raise ServiceError(
        _("Other work changes the index of surrogates all the time. Wait until it has finished, then start again."),
        code="busy",
    )


def _clustered(project: Project, key: Key, maker: Maker, patients: Sequence[Patient]) -> list[list[Cluster]]:
    """The clusters of each patient. A model is not asked about patients all of whose mentions the index holds."""
    if isinstance(maker, RulesMaker):
        return maker.cluster(patient_mentions(patients))
    known: set[Where] = set()
    for some in in_parts(sorted({one.note for patient in patients for one in patient.mentions})):
        rows = SurrogateMention.objects.filter(document__in=some, entity__project=project).order_by()
        known.update(rows.values_list("document_id", "start", "end"))
    new = [any(one[:3] not in known for one in patient.mentions) for patient in patients]
    asked = iter(maker.cluster(patient_mentions([one for one, is_new in zip(patients, new, strict=True) if is_new])))
    rest = [one for one, is_new in zip(patients, new, strict=True) if not is_new]
    by_rules = iter(RulesMaker(key).cluster(patient_mentions(rest)))
    return [next(asked if is_new else by_rules) for is_new in new]


def lock_index(project: Project) -> None:
    """Exclude other changes of the index, and erasures, until the transaction ends."""
    hold(project.pk)
    advisory_lock(_INDEX, project.pk, shared=False)


def _store(plan: Plan) -> set[int]:
    """Store new entities, forms, keys and mentions. Return the ids of the notes that still exist.

    Raises NotNew or IntegrityError if the index has changed so that the plan no longer fits.
    """
    lock_index(plan.project)
    present = _present(plan)
    touched = [entity for entity in plan.entities if any(one.note in present for one in entity.unstored)]
    _check_known(plan)
    known = named(plan.project, {digest for entity in touched for digest in entity.keys})
    _check_new(plan, touched, known)
    _insert_new(plan, [entity for entity in touched if entity.stored is None])
    _add_forms(plan, [entity for entity in touched if entity.sealed is not None and entity.forms])
    _insert_keys(plan, touched, known)
    _insert_mentions(plan, touched, present)
    return present


def _insert_new(plan: Plan, entities: Sequence[Entity]) -> None:
    rows = [
        (
            plan.project.pk,
            str(entity.kind),
            entity.scope,
            entity.sealed_now().closed(plan.key),
            entity.digest,
            (entity.surrogate.made_by if entity.surrogate else "")[:60],
        )
        for entity in entities
    ]
    columns = ("project_id", "kind", "scope", "sealed", "surrogate_digest", "made_by")
    for entity, pk in zip(entities, insert_returning(SurrogateEntity, columns, rows), strict=True):
        entity.stored = Stored(pk)


def _present(plan: Plan) -> set[int]:
    wanted = {one.note for entity in plan.entities for own in entity.mentions.values() for one in own}
    found: set[int] = set()
    for some in in_parts(sorted(wanted)):
        notes = Document.objects.filter(project=plan.project, pk__in=some).order_by()
        found.update(notes.values_list("pk", flat=True))
    return found


def _check_known(plan: Plan) -> None:
    """Raise NotNew if an entity that the plan uses was edited or deleted since the plan read it."""
    known = {entity.stored.pk: entity.stored.version for entity in plan.entities if entity.stored is not None}
    for some in in_parts(sorted(known)):
        rows = SurrogateEntity.objects.filter(project=plan.project, pk__in=some).order_by()
        if dict(rows.values_list("pk", "version")) != {pk: known[pk] for pk in some}:
            raise NotNew


def _check_new(plan: Plan, touched: Sequence[Entity], known: Known) -> None:
    """Raise NotNew if another worker has stored a key or a surrogate that the plan holds to be new."""
    for entity in touched:
        for digest in entity.keys:
            owner = known.get(digest, {}).get((entity.kind, entity.scope))
            if owner is not None and (entity.stored is None or owner != entity.stored.pk):
                raise NotNew
    # Among entities of one kind, the database refuses a surrogate that another one has.
    new = [entity for entity in touched if entity.stored is None and entity.digest and entity.kind in PEOPLE]
    owned = taken(plan.project, {entity.digest for entity in new if entity.digest})
    for entity in new:
        if any(kind in kinds_with(entity.kind) for _pk, kind in owned.get(entity.digest or "", ())):
            raise NotNew


def _add_forms(plan: Plan, entities: Sequence[Entity]) -> None:
    """Seal new forms with those that other workers have added meanwhile."""
    by_pk = {entity.stored.pk: entity for entity in entities if entity.stored is not None}
    for some in in_parts(sorted(by_pk)):
        rows = list(SurrogateEntity.objects.select_for_update().filter(pk__in=some).order_by("pk"))
        for row in rows:
            entity = by_pk[row.pk]
            row.sealed = opened(plan.key, row).with_forms(entity.forms, entity.cues).closed(plan.key)
        SurrogateEntity.objects.bulk_update(rows, ["sealed"], batch_size=500)


def _insert_keys(plan: Plan, entities: Sequence[Entity], known: Known) -> None:
    """Insert the keys that the index lacks, in a fixed order."""
    rows = [
        (entity.stored.pk, plan.project.pk, str(entity.kind), entity.scope, digest)
        for entity in entities
        if entity.stored is not None
        for digest in entity.keys
        if (entity.kind, entity.scope) not in known.get(digest, {})
    ]
    rows.sort(key=lambda row: (row[4], row[2], row[3]))
    insert_rows(SurrogateKey, ("entity_id", "project_id", "kind", "scope", "digest"), rows)


def _insert_mentions(plan: Plan, entities: Sequence[Entity], present: Collection[int]) -> None:
    """Insert the mentions; those that had another entity, because their label has changed, move."""
    numbers = {
        text: form_number(plan.key, text) for text in {one.text for entity in entities for one in entity.unstored}
    }
    rows = [
        (entity.stored.pk, one.note, one.start, one.end, numbers[one.text])
        for entity in entities
        if entity.stored is not None
        for one in entity.unstored
        if one.note in present
    ]
    stale = {row[1:4] for row in rows}
    moved: list[int] = []
    losing: set[int] = set()
    for some in in_parts(sorted({row[1] for row in rows})):
        stored = SurrogateMention.objects.filter(document__in=some).order_by()
        for pk, entity, *place in stored.values_list("pk", "entity_id", "document_id", "start", "end"):
            if tuple(place) in stale:
                moved.append(pk)
                losing.add(entity)
    for some in in_parts(moved):
        SurrogateMention.objects.filter(pk__in=some).delete()
    insert_rows(SurrogateMention, ("entity_id", "document_id", "start", "end", "form"), rows)
    # Otherwise an erasure of the note would not find its words there.
    for some in in_parts(sorted(losing)):
        keep_only_said(plan.key, some)
