"""Surrogates for the mentions of notes, from the project's index (Singh et al. 2025, appendix A.6, algorithm 3).

The index is read and new surrogates are made outside any lock; then one transaction stores them. If another worker has
stored one of the same entities or surrogates meanwhile, nothing is stored, and the work starts again with what the
index holds now. So two workers that meet the same entity give it one surrogate.
"""

from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any, Final

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from annotations.core.bulk import among, insert_returning, insert_rows
from annotations.core.sealing import Key, project_key
from annotations.core.services import ServiceError, advisory_lock, hold
from annotations.models import Document, Project, SurrogateEntity, SurrogateKey, SurrogateMention
from annotations.release.rules.redaction.policy import PEOPLE, Action, IdentifierType
from annotations.release.rules.redaction.released import Mention
from annotations.release.rules.surrogates.measures import ReplacedMention, measure
from annotations.release.rules.surrogates.pipeline import Cluster, Surrogate
from annotations.release.selectors import surrogates as index
from annotations.release.services.policies import policies_of, read_policy
from annotations.release.services.sources import covered_notes, source_of
from annotations.release.services.surrogates.makers import Maker, Params, RulesMaker, maker_of
from annotations.release.services.surrogates.patients import (
    NoteMentions,
    Originals,
    Patient,
    Where,
    mentioned,
    patients_of,
)
from annotations.release.services.surrogates.planning import Entity, Plan, StoredEntity, stored_mentions
from annotations.text.spans import stretches

# Erase notes from the index of surrogates: what only they said leaves the index with them.


def forget_notes(*, project: Project, notes: Sequence[int], patient: str) -> None:
    """Delete mentions in these notes, entities that no other note mentions, and forms that no other note has.

    Called in the transaction of the erasure, which excludes all other changes of the index. The notes still exist.
    """
    if not SurrogateEntity.objects.filter(project=project).exists():
        return
    key = project_key(project)
    mentions = SurrogateMention.objects.filter(document__in=among(notes)).order_by()
    touched = set(mentions.values_list("entity_id", flat=True).distinct())
    mentions.delete()
    scopes = {index.private_scope(key, patient, note) for note in ([0] if patient else notes)}
    kept = keep_only_said(key, touched)
    SurrogateEntity.objects.filter(pk__in=among(touched - kept)).delete()
    # What no mention leads to, because an edit or another label took the mentions away. Of an entity that all patients
    # share, nothing tells any more whose note said it.
    SurrogateEntity.objects.filter(project=project, scope__in={*scopes, ""}, mentions=None).delete()


def keep_only_said(key: Key, entities: Collection[int]) -> set[int]:
    """Remove forms that no mention has any more, and the keys that only those forms had.

    Entities without mentions stay as they are; return the others. The caller's transaction excludes other changes of
    the index.
    """
    said: dict[int, set[int]] = {}
    mentions = SurrogateMention.objects.filter(entity__in=among(entities)).order_by()
    for entity, form in mentions.values_list("entity_id", "form").distinct():
        said.setdefault(entity, set()).add(form)
    changed = []
    for row in SurrogateEntity.objects.select_for_update().filter(pk__in=among(said)).order_by("pk"):
        sealed = index.opened(key, row)
        left = sealed.only({form for form in sealed.forms if index.form_number(key, form) in said[row.pk]})
        if left.forms != sealed.forms:
            row.sealed = left.closed(key)
            changed.append(row)
            known = index.keys_of(key, IdentifierType(row.kind), left)
            SurrogateKey.objects.filter(entity=row).exclude(digest__in=known).delete()
    SurrogateEntity.objects.bulk_update(changed, ["sealed"], batch_size=500)
    return set(said)


# The number of the lock between workers that change a project's index (annotations.core.services).
_INDEX: Final = 0x6E02
Known = Mapping[str, Mapping[tuple[str, str], int]]
"""Entities of the index by digest, then by kind and scope (`entities_by_digest`)."""
TRIES: Final = 20
"""How often the work starts again because others stored the same entities."""


class NotNew(Exception):
    """Another worker has stored an entity or a surrogate that this one was about to store, or changed one."""


def surrogates_for(
    *, project: Project, notes: Sequence[NoteMentions], maker: Params | None = None, avoid: Container[str] = ()
) -> dict[Where, str]:
    """Return what to write in place of each mention, by note, start and end; new entities are added to the index.

    Give all notes of a patient in one call. The same mentions get the same surrogates in every call, until a person
    edits the index. `maker`: the stored parameters of a language model (makers); the rules without. `avoid`:
    folded names that no surrogate may be, such as the originals of a release (patients.Originals). Mentions of notes
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
    message = _("Other jobs keep changing the index of surrogates. Wait until they have finished, then start again.")
    raise ServiceError(message, code="busy")


def _clustered(project: Project, key: Key, maker: Maker, patients: Sequence[Patient]) -> list[list[Cluster]]:
    """The clusters of each patient. A model is not asked about patients all of whose mentions the index holds."""
    if isinstance(maker, RulesMaker):
        return maker.cluster(patients)
    known = stored_mentions(project, {one.note for patient in patients for one in patient.mentions})
    new = [any(one[:3] not in known for one in patient.mentions) for patient in patients]
    asked = iter(maker.cluster([one for one, is_new in zip(patients, new, strict=True) if is_new]))
    rest = [one for one, is_new in zip(patients, new, strict=True) if not is_new]
    by_rules = iter(RulesMaker(key).cluster(rest))
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
    noted = {one.note for entity in plan.entities for own in entity.mentions.values() for one in own}
    notes = Document.objects.filter(project=plan.project, pk__in=among(noted)).order_by()
    present = set(notes.values_list("pk", flat=True))
    touched = [entity for entity in plan.entities if any(one.note in present for one in entity.unstored)]
    _check_known(plan)
    known = index.entities_by_digest(plan.project, {digest for entity in touched for digest in entity.keys})
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
        entity.stored = StoredEntity(pk)


def _check_known(plan: Plan) -> None:
    """Raise NotNew if an entity that the plan uses was edited or deleted since the plan read it."""
    known = {entity.stored.pk: entity.stored.version for entity in plan.entities if entity.stored is not None}
    rows = SurrogateEntity.objects.filter(project=plan.project, pk__in=among(known)).order_by()
    if dict(rows.values_list("pk", "version")) != known:
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
    owned = index.owners_of(plan.project, {entity.digest for entity in new if entity.digest})
    for entity in new:
        if any(kind in index.kinds_with(entity.kind) for _pk, kind in owned.get(entity.digest or "", ())):
            raise NotNew


def _add_forms(plan: Plan, entities: Sequence[Entity]) -> None:
    """Seal new forms with those that other workers have added meanwhile."""
    by_pk = {entity.stored.pk: entity for entity in entities if entity.stored is not None}
    rows = list(SurrogateEntity.objects.select_for_update().filter(pk__in=among(by_pk)).order_by("pk"))
    for row in rows:
        entity = by_pk[row.pk]
        row.sealed = index.opened(plan.key, row).with_forms(entity.forms, entity.cues).closed(plan.key)
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
        text: index.form_number(plan.key, text) for text in {one.text for entity in entities for one in entity.unstored}
    }
    rows = [
        (entity.stored.pk, one.note, one.start, one.end, numbers[one.text])
        for entity in entities
        if entity.stored is not None
        for one in entity.unstored
        if one.note in present
    ]
    stale = {row[1:4] for row in rows}
    stored = SurrogateMention.objects.filter(document__in=among({row[1] for row in rows})).order_by()
    columns = stored.values_list("pk", "entity_id", "document_id", "start", "end")
    moved = {pk: entity for pk, entity, *place in columns if tuple(place) in stale}
    SurrogateMention.objects.filter(pk__in=among(moved)).delete()
    insert_rows(SurrogateMention, ("entity_id", "document_id", "start", "end", "form"), rows)
    # Otherwise an erasure of the note would not find its words there.
    keep_only_said(plan.key, set(moved.values()))


# Build the index for annotation sets before a release, and measure it (Singh et al. 2025, appendix A.7).


POLICY: Final = "surrogate"
BATCH: Final = 100
"""Notes at a time; a patient with more of them has a batch of their own."""


def fill_index(*, project: Project, set_spec: str, maker: Params | None = None) -> dict[str, Any]:
    """Add the entities of all mentions to the index of surrogates. Return the number of notes, and their Measures.

    The labels are those that the policy `surrogate` replaces by surrogates. Raises ServiceError `set` or `version` for
    unknown annotations, `empty` without notes.
    """
    source = source_of(project, set_spec)
    rows = covered_notes(project, source).order_by("patient_id", "pk")
    patients = list(rows.values_list("patient_id", "pk"))
    if not patients:
        raise ServiceError("No note has these annotations. Nothing was built.", code="empty")
    (policy,) = (row for row in policies_of(project) if row.slug == POLICY)
    kinds = {
        code: rule.kind for code, rule in read_policy(policy.rules).rules.items() if rule.action == Action.SURROGATE
    }

    def notes(ids: Sequence[int]) -> list[NoteMentions]:
        spans = source.spans(ids)
        return [
            NoteMentions(
                note.pk,
                note.patient_id,
                note.language or project.language,
                note.text,
                [
                    Mention(start, end, label, kinds[label], note.text[start:end])
                    for start, end, label in stretches(spans[note.pk])
                    if label in kinds
                ],
            )
            for note in Document.objects.filter(pk__in=ids).order_by("patient_id", "pk")
        ]

    originals = Originals(project_key(project), (notes(ids) for ids in _batches(patients)))
    replaced: list[ReplacedMention] = []
    for ids in _batches(patients):
        batch = notes(ids)
        replaced += _replaced(
            project, batch, surrogates_for(project=project, notes=batch, maker=maker, avoid=originals)
        )
    return {"notes": len(patients), **asdict(measure(replaced))}


def _batches(patients: Sequence[tuple[str, int]]) -> Iterator[list[int]]:
    """Notes, given as patient and id, in batches of whole patients."""
    batch: list[int] = []
    for _patient, group in groupby(patients, key=lambda row: row[0] or row[1]):
        own = [pk for _patient, pk in group]
        if batch and len(batch) + len(own) > BATCH:
            yield batch
            batch = []
        batch += own
    yield batch


def _replaced(
    project: Project, notes: Sequence[NoteMentions], written: Mapping[Where, str]
) -> Iterator[ReplacedMention]:
    """The mentions of notes with what was written for them, for the measures."""
    known: dict[int, Surrogate] = {}
    owners = entities_in(project, project_key(project), [note.document for note in notes], known)
    for note in notes:
        for one in note.mentions:
            where = (note.document, one.start, one.end)
            if where in written and where in owners:
                here = mentioned(note.document, note.text, one)
                yield ReplacedMention(owners[where], here, written[where], known[owners[where]], note.language)


def entities_in(project: Project, key: Key, notes: Iterable[int], known: dict[int, Surrogate]) -> dict[Where, int]:
    """The entity of each mention in these notes. Adds the surrogates of new ones to `known`."""
    found = stored_mentions(project, notes)
    for row in SurrogateEntity.objects.filter(pk__in=among(set(found.values()) - known.keys())).order_by():
        known[row.pk] = index.surrogate_of(row, index.opened(key, row))
    return found
