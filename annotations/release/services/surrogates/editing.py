"""Edit the index before a release: merge and split entities, lock, replace and draw surrogates.

Every function takes the versions that the person saw. If somebody has edited one of the entities meanwhile, nothing
changes and a ServiceError `changed` says so. Releases that were prepared before keep their texts.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Final

from django.db import transaction
from django.db.models import Count
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.core.sealing import Key, project_key
from annotations.core.services import ServiceError
from annotations.models import Project, SurrogateEntity, SurrogateKey, SurrogateMention, User
from annotations.release import events
from annotations.release.rules.redaction.policy import IdentifierType
from annotations.release.rules.surrogates.clustering import identities, surrogate_key
from annotations.release.rules.surrogates.folding import folded
from annotations.release.rules.surrogates.generating import generate
from annotations.release.rules.surrogates.pipeline import Around, IndexedEntity, Surrogate
from annotations.release.rules.surrogates.writing import parts_of
from annotations.release.selectors import surrogates as index
from annotations.release.services.surrogates.makers import generator_source
from annotations.release.services.surrogates.making import lock_index
from annotations.release.services.surrogates.patients import date_offset
from annotations.release.services.surrogates.planning import MOST_ATTEMPTS, STRICT_ATTEMPTS

# A new surrogate for one entity of the index, drawn by rules or typed by a person.


MOST_RELATED: Final = 300
"""Entities that a new surrogate is made to agree with: more are of no use to it."""
BY_PERSON: Final = "person"


def draw(project: Project, key: Key, row: SurrogateEntity, sealed: index.EntitySecrets) -> Surrogate:
    """Make another surrogate for an entity by rules. Raises ServiceError `none` if all that can be made are taken."""
    cluster = index.cluster_of(IdentifierType(row.kind), sealed)
    related = related_to(project, key, row)
    avoid = {folded(form) for form in sealed.forms} | set(identities(cluster))
    avoid |= {folded(form) for each in related for form in each.forms}
    days = _days(key, row)
    present = surrogate_key(Surrogate(cluster.kind, sealed.parts))
    for attempt in range(MOST_ATTEMPTS):
        # The version makes it another surrogate than the ones before.
        source = generator_source(key, cluster, f"{row.scope}-{row.version}", attempt)
        made = generate(source, cluster, Around(related, days), avoid, attempt)
        if surrogate_key(made) == present:
            continue
        problem = problem_with(project, key, row, sealed, made)
        if not problem or (problem == "original" and attempt >= STRICT_ATTEMPTS):
            return made
    raise ServiceError(_("No other surrogate could be made for this entity. Type one instead."), code="none")


def typed(project: Project, key: Key, row: SurrogateEntity, sealed: index.EntitySecrets, text: str) -> Surrogate:
    """Read a surrogate that a person typed. Raises ServiceError `format`, `original` or `taken`."""
    parts = parts_of(index.cluster_of(IdentifierType(row.kind), sealed), text)
    if parts is None:
        raise ServiceError(
            _("This surrogate has another format than the original. Type a full name, or as many words or digits."),
            code="format",
        )
    made = Surrogate(IdentifierType(row.kind), parts, BY_PERSON)
    problem = problem_with(project, key, row, sealed, made)
    if problem == "original":
        message = _("The notes of this project name somebody or something like this. Type another surrogate.")
        raise ServiceError(message, code="original")
    if problem == "taken":
        raise ServiceError(_("Another entity has this surrogate. Type another one."), code="taken")
    return made


def problem_with(project: Project, key: Key, row: SurrogateEntity, sealed: index.EntitySecrets, made: Surrogate) -> str:
    """Why an entity can't get this surrogate: `original`, `taken`, or empty."""
    names = index.named_as(index.cluster_of(made.kind, sealed), made)
    if {surrogate_key(made), *names} & {folded(form) for form in sealed.forms}:
        return "original"
    among = index.kinds_with(made.kind)
    digests = [index.identity_digest(key, name) for name in names]
    for owners in index.entities_by_digest(project, digests).values():
        if any(kind in among and scope in ("", row.scope) for kind, scope in owners):
            return "original"
    digest = index.surrogate_digest(key, made.kind, surrogate_key(made))
    owned = index.owners_of(project, [digest] if digest else [])
    if any(kind in among and pk != row.pk for pk, kind in owned.get(digest or "", ())):
        return "taken"
    return ""


def _days(key: Key, row: SurrogateEntity) -> int:
    """The offset of the dates of the patient whose entity it is; 0 for a shared or a new entity."""
    if not row.scope or row.pk is None:
        return 0
    note = row.mentions.order_by("document").values_list("document__patient_id", "document_id").first()
    return date_offset(key, *note) if note else 0


def related_to(project: Project, key: Key, row: SurrogateEntity) -> list[IndexedEntity]:
    """Other entities with which an entity's surrogate must agree: those of the patient, or shared ones of its notes."""
    rows = SurrogateEntity.objects.filter(project=project).exclude(pk=row.pk)
    own = rows.filter(scope=row.scope)[:MOST_RELATED] if row.scope else []
    notes = list(row.mentions.order_by().values_list("document_id", flat=True).distinct()[:20]) if row.pk else []
    shared = rows.filter(scope="", mentions__document__in=notes).distinct()[:MOST_RELATED]
    found = [(each, index.opened(key, each)) for each in [*own, *shared]]
    return [
        IndexedEntity(
            each.pk, IdentifierType(each.kind), one.forms, index.surrogate_of(each, one), each.locked, own=True
        )
        for each, one in found
    ]


MOST_MERGED = 100
MOST_TYPED = 200


def merge(*, project: Project, versions: Mapping[int, int], actor: User) -> SurrogateEntity:
    """Make one entity of several of one kind, and of one patient where patients don't share the kind.

    A locked entity keeps its surrogate; otherwise the one with most mentions does. `versions` by entity. Raises
    ServiceError `few`, `many`, `kinds`, `patients`, `locked`, `changed` or `gone`.
    """
    if len(versions) < 2:
        raise ServiceError(_("Choose two entities or more to merge."), code="few")
    if len(versions) > MOST_MERGED:
        raise ServiceError(_("You can merge at most %(most)d entities at a time.") % {"most": MOST_MERGED}, code="many")
    with transaction.atomic():
        lock_index(project)
        rows = _held(project, versions)
        if len({row.kind for row in rows}) > 1:
            raise ServiceError(_("Only entities of the same type can be merged. Nothing was merged."), code="kinds")
        if len({row.scope for row in rows}) > 1:
            raise ServiceError(_("Only entities of one patient can be merged. Nothing was merged."), code="patients")
        if sum(row.locked for row in rows) > 1:
            message = _("Two of these entities are locked. Unlock all but one, then merge them.")
            raise ServiceError(message, code="locked")
        counts = dict(
            SurrogateMention.objects.filter(entity__in=rows).order_by().values_list("entity").annotate(Count("pk"))
        )
        kept = max(rows, key=lambda row: (row.locked, counts.get(row.pk, 0), -row.pk))
        others = [row for row in rows if row.pk != kept.pk]
        key = project_key(project)
        sealed = index.opened(key, kept)
        for row in others:
            other = index.opened(key, row)
            sealed = sealed.with_forms(other.forms, other.cues)
        moved = SurrogateMention.objects.filter(entity__in=others).update(entity=kept)
        SurrogateKey.objects.filter(entity__in=others).update(entity=kept)
        SurrogateEntity.objects.filter(pk__in=[row.pk for row in others]).delete()
        kept.sealed = sealed.closed(key)
        _edited(kept, actor)
        data: events.EntitiesMerged = {"entity": kept.pk, "merged": sorted(row.pk for row in others), "mentions": moved}
        events.ENTITIES_MERGED.record(actor=actor, project_id=project.pk, data=data)
    return kept


def split(*, project: Project, entity: int, version: int, mentions: Collection[int], actor: User) -> SurrogateEntity:
    """Move some of an entity's mentions to a new entity with a new surrogate. Return the new one.

    Raises ServiceError `few`, `all`, `locked`, `changed` or `gone`.
    """
    with transaction.atomic():
        lock_index(project)
        (row,) = _held(project, {entity: version})
        _check_unlocked(row)
        own = list(SurrogateMention.objects.filter(entity=row).order_by().values_list("pk", "form"))
        chosen = {pk for pk, _form in own} & set(mentions)
        if not chosen:
            raise ServiceError(_("Choose the mentions to move to a new entity."), code="few")
        if len(chosen) == len(own):
            message = _("You chose all mentions of this entity. Leave at least one, or draw another surrogate.")
            raise ServiceError(message, code="all")
        key = project_key(project)
        sealed = index.opened(key, row)
        gone, stay = ({form for pk, form in own if (pk in chosen) is moved} for moved in (True, False))
        moved_forms = sealed.only({form for form in sealed.forms if index.form_number(key, form) in gone})
        left = sealed.only({form for form in sealed.forms if index.form_number(key, form) in stay})
        # With the version of the old one, so that the new one is drawn differently.
        new = SurrogateEntity(project=project, kind=row.kind, scope=row.scope, version=row.version)
        made = index.EntitySecrets(moved_forms.forms, {}, sealed.language, moved_forms.cues)
        drawn = draw(project, key, new, made)
        _give(new, key, replace(made, parts=dict(drawn.parts)), drawn)
        _edited(new, actor)
        SurrogateMention.objects.filter(pk__in=chosen).update(entity=new)
        kind = IdentifierType(row.kind)
        lost = index.keys_of(key, kind, moved_forms) - index.keys_of(key, kind, left)
        SurrogateKey.objects.filter(entity=row, digest__in=lost).update(entity=new)
        row.sealed = left.closed(key)
        _edited(row, actor)
        events.ENTITY_SPLIT.record(
            actor=actor, project_id=project.pk, data={"entity": row.pk, "into": new.pk, "mentions": len(chosen)}
        )
    return new


def change(*, project: Project, entity: int, version: int, act: str, text: str = "", actor: User) -> None:
    """Lock or unlock an entity, so that nobody gives it another surrogate, or give it another one.

    `replace` gives it the surrogate `text`, `draw` one made by rules, and `restore` the one from before the last
    change; a second call changes it back. Raises ServiceError `locked`, `changed` or `gone`; `empty`, `long`, `format`,
    `original` or `taken` for a text; `none` or `taken` for the others.
    """
    text = " ".join(text.split())
    if act == "replace" and not text:
        raise ServiceError(_("Type a surrogate."), code="empty")
    if len(text) > MOST_TYPED:
        raise ServiceError(_("A surrogate has at most %(most)d characters.") % {"most": MOST_TYPED}, code="long")
    with transaction.atomic():
        lock_index(project)
        (row,) = _held(project, {entity: version})
        if act in ("lock", "unlock"):
            if row.locked == (act == "lock"):
                return
            row.locked = act == "lock"
            # The surrogates of releases stay what they are, so this is not an edit of theirs.
            row.version += 1
            row.save(update_fields=["locked", "version"])
        else:
            _check_unlocked(row)
            key = project_key(project)
            sealed = index.opened(key, row)
            if act == "replace":
                drawn = typed(project, key, row, sealed, text)
            else:
                drawn = (draw if act == "draw" else _from_before)(project, key, row, sealed)
            # The one from before is kept for `restore`.
            made = replace(sealed, parts=dict(drawn.parts), before=sealed.parts, before_by=row.made_by)
            _give(row, key, made, drawn)
            _edited(row, actor)
        _VERBS[act].record(actor=actor, project_id=project.pk, data={"entity": row.pk})


_VERBS: Final = {
    "lock": events.SURROGATE_LOCKED,
    "unlock": events.SURROGATE_UNLOCKED,
    "replace": events.SURROGATE_REPLACED,
    "draw": events.SURROGATE_DRAWN,
    "restore": events.SURROGATE_RESTORED,
}


def _from_before(project: Project, key: Key, row: SurrogateEntity, sealed: index.EntitySecrets) -> Surrogate:
    """The surrogate from before the last change. Raises ServiceError `none` or `taken`."""
    if sealed.before is None:
        raise ServiceError(_("This entity has no earlier surrogate."), code="none")
    made = Surrogate(IdentifierType(row.kind), sealed.before, sealed.before_by or BY_PERSON)
    digest = index.surrogate_digest(key, made.kind, surrogate_key(made))
    if digest and any(pk != row.pk for pk, _kind in index.owners_of(project, [digest]).get(digest, ())):
        message = _("Another entity now has the earlier surrogate. Draw another surrogate, or type one.")
        raise ServiceError(message, code="taken")
    return made


def _held(project: Project, versions: Mapping[int, int]) -> list[SurrogateEntity]:
    """The entities, locked. Raises ServiceError `gone` or `changed`."""
    rows = list(SurrogateEntity.objects.select_for_update().filter(project=project, pk__in=versions).order_by("pk"))
    if len(rows) < len(versions):
        message = _("This entity no longer exists: it was merged, or its notes were erased. Reload the page.")
        raise ServiceError(message, code="gone")
    if any(row.version != versions[row.pk] for row in rows):
        message = _("Somebody else has changed this entity meanwhile. Nothing was changed. Check it, then try again.")
        raise ServiceError(message, code="changed")
    return rows


def _check_unlocked(row: SurrogateEntity) -> None:
    if row.locked:
        raise ServiceError(_("This entity is locked. Unlock it first."), code="locked")


def _give(row: SurrogateEntity, key: Key, sealed: index.EntitySecrets, drawn: Surrogate) -> None:
    row.sealed = sealed.closed(key)
    row.surrogate_digest = index.surrogate_digest(key, drawn.kind, surrogate_key(drawn))
    row.made_by = drawn.made_by[:60]


def _edited(row: SurrogateEntity, actor: User) -> None:
    row.version += 1
    row.edited_at, row.edited_by = timezone.now(), actor
    row.save()
