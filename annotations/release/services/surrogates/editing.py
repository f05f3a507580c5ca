"""Edit the index before a release: merge and split entities, lock, replace and draw surrogates.

Every function takes the versions that the person saw. If somebody has edited one of the entities meanwhile, nothing
changes and a ServiceError `changed` says so. Releases that were prepared before keep their texts.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from dataclasses import replace as with_changes
from typing import Final, TypedDict

from django.db import transaction
from django.db.models import Count
from django.utils import timezone
from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.core.sealing import Key, project_key
from annotations.models import Project, SurrogateEntity, SurrogateKey, SurrogateMention, User
from annotations.release.events import (
    ENTITIES_MERGED,
    ENTITY_SPLIT,
    SURROGATE_DRAWN,
    SURROGATE_LOCKED,
    SURROGATE_REPLACED,
    SURROGATE_RESTORED,
    SURROGATE_UNLOCKED,
)
from annotations.release.rules.redaction.kinds import IdentifierType
from annotations.release.rules.surrogates.deciding import identities, surrogate_key
from annotations.release.rules.surrogates.folding import folded
from annotations.release.rules.surrogates.generating.rules import RuleGenerator
from annotations.release.rules.surrogates.pipeline import Around, Indexed, Surrogate
from annotations.release.rules.surrogates.typed import parts_of
from annotations.release.selectors.surrogates import (
    Sealed,
    cluster_of,
    form_number,
    identity_digest,
    keys_of,
    kinds_with,
    named,
    named_as,
    opened,
    surrogate_digest,
    surrogate_of,
    taken,
)
from annotations.release.services.surrogates.date_offsets import date_offset
from annotations.release.services.surrogates.makers import generator_source
from annotations.release.services.surrogates.making import lock_index
from annotations.release.services.surrogates.planning import MOST_ATTEMPTS, STRICT_ATTEMPTS

# A new surrogate for one entity of the index, drawn by rules or typed by a person.


MOST_RELATED: Final = 300
"""Entities that a new surrogate is made to agree with: more are of no use to it."""
BY_PERSON: Final = "person"


@dataclass(frozen=True, slots=True)
class DrawnSurrogate:
    """A surrogate that no other entity has, and the digest under which the index stores it."""

    surrogate: Surrogate
    digest: str | None


def draw(project: Project, key: Key, row: SurrogateEntity, sealed: Sealed) -> DrawnSurrogate:
    """Make another surrogate for an entity by rules. Raises ServiceError `none` if all that can be made are taken."""
    cluster = cluster_of(IdentifierType(row.kind), sealed)
    related = related_to(project, key, row)
    avoid = {folded(form) for form in sealed.forms} | set(identities(cluster))
    avoid |= {folded(form) for each in related for form in each.forms}
    days = _days(key, row)
    present = surrogate_key(Surrogate(cluster.kind, sealed.parts))
    for attempt in range(MOST_ATTEMPTS):
        # The version makes it another surrogate than the ones before.
        source = generator_source(key, cluster, f"{row.scope}-{row.version}", attempt)
        made = RuleGenerator(source).generate(cluster, Around(related, days), avoid, attempt)
        if surrogate_key(made) == present:
            continue
        problem = problem_with(project, key, row, sealed, made)
        if not problem or (problem == "original" and attempt >= STRICT_ATTEMPTS):
            return DrawnSurrogate(made, surrogate_digest(key, made.kind, surrogate_key(made)))
    raise ServiceError(_("No other surrogate could be made for this entity. Type one instead."), code="none")


def typed(project: Project, key: Key, row: SurrogateEntity, sealed: Sealed, text: str) -> DrawnSurrogate:
    """Read a surrogate that a person typed. Raises ServiceError `format`, `original` or `taken`."""
    parts = parts_of(cluster_of(IdentifierType(row.kind), sealed), text)
    if parts is None:
        raise ServiceError(
            _("This surrogate has another format than the original. Type a full name, or as many words or digits."),
            code="format",
        )
    made = Surrogate(IdentifierType(row.kind), parts, BY_PERSON)
    problem = problem_with(project, key, row, sealed, made)
    if problem == "original":
        raise ServiceError(
            _("The notes of this project name somebody or something like this. Type another surrogate."),
            code="original",
        )
    if problem == "taken":
        raise ServiceError(_("Another entity has this surrogate. Type another one."), code="taken")
    return DrawnSurrogate(made, surrogate_digest(key, made.kind, surrogate_key(made)))


def problem_with(project: Project, key: Key, row: SurrogateEntity, sealed: Sealed, made: Surrogate) -> str:
    """Why an entity can't get this surrogate: `original`, `taken`, or empty."""
    names = named_as(cluster_of(made.kind, sealed), made)
    if {surrogate_key(made), *names} & {folded(form) for form in sealed.forms}:
        return "original"
    among = kinds_with(made.kind)
    digests = [identity_digest(key, name) for name in names]
    for owners in named(project, digests).values():
        if any(kind in among and scope in ("", row.scope) for kind, scope in owners):
            return "original"
    digest = surrogate_digest(key, made.kind, surrogate_key(made))
    owned = taken(project, [digest] if digest else [])
    if any(kind in among and pk != row.pk for pk, kind in owned.get(digest or "", ())):
        return "taken"
    return ""


def _days(key: Key, row: SurrogateEntity) -> int:
    """The offset of the dates of the patient whose entity it is; 0 for a shared or a new entity."""
    if not row.scope or row.pk is None:
        return 0
    note = row.mentions.order_by("document").values_list("document__patient_id", "document_id").first()
    return date_offset(key, *note) if note else 0


def related_to(project: Project, key: Key, row: SurrogateEntity) -> list[Indexed]:
    """Other entities with which an entity's surrogate must agree: those of the patient, or shared ones of its notes."""
    rows = SurrogateEntity.objects.filter(project=project).exclude(pk=row.pk)
    if row.scope:
        own = list(rows.filter(scope=row.scope)[:MOST_RELATED])
    else:
        own = []
    notes = list(row.mentions.order_by().values_list("document_id", flat=True).distinct()[:20]) if row.pk else []
    shared = rows.filter(scope="", mentions__document__in=notes).distinct()[:MOST_RELATED]
    found = []
    for each in [*own, *shared]:
        sealed = opened(key, each)
        found.append(
            Indexed(each.pk, IdentifierType(each.kind), sealed.forms, surrogate_of(each, sealed), each.locked, own=True)
        )
    return found


MOST_MERGED = 100
MOST_TYPED = 200


class Seen(TypedDict):
    """Which entity somebody edits, and the version that the person saw."""

    project: Project
    entity: int
    version: int
    actor: User


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
            raise ServiceError(_("Only entities of one kind can be merged. Nothing was merged."), code="kinds")
        if len({row.scope for row in rows}) > 1:
            raise ServiceError(_("Only entities of one patient can be merged. Nothing was merged."), code="patients")
        if sum(row.locked for row in rows) > 1:
            raise ServiceError(
                _("Two of these entities are locked. Unlock all but one, then merge them."), code="locked"
            )
        counts = dict(
            SurrogateMention.objects.filter(entity__in=rows).order_by().values_list("entity").annotate(Count("pk"))
        )
        kept = max(rows, key=lambda row: (row.locked, counts.get(row.pk, 0), -row.pk))
        others = [row for row in rows if row.pk != kept.pk]
        key = project_key(project)
        sealed = opened(key, kept)
        for row in others:
            other = opened(key, row)
            sealed = sealed.with_forms(other.forms, other.cues)
        moved = SurrogateMention.objects.filter(entity__in=others).update(entity=kept)
        SurrogateKey.objects.filter(entity__in=others).update(entity=kept)
        SurrogateEntity.objects.filter(pk__in=[row.pk for row in others]).delete()
        kept.sealed = sealed.closed(key)
        _edited(kept, actor)
        ENTITIES_MERGED.record(
            actor=actor,
            project_id=project.pk,
            data={"entity": kept.pk, "merged": sorted(row.pk for row in others), "mentions": moved},
        )
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
            raise ServiceError(
                _("You chose all mentions of this entity. Leave at least one, or draw another surrogate."), code="all"
            )
        key = project_key(project)
        sealed = opened(key, row)
        gone, stay = ({form for pk, form in own if (pk in chosen) is moved} for moved in (True, False))
        moved_forms = sealed.only({form for form in sealed.forms if form_number(key, form) in gone})
        left = sealed.only({form for form in sealed.forms if form_number(key, form) in stay})
        # With the version of the old one, so that the new one is drawn differently.
        new = SurrogateEntity(project=project, kind=row.kind, scope=row.scope, version=row.version)
        made = Sealed(moved_forms.forms, {}, sealed.language, moved_forms.cues)
        drawn = draw(project, key, new, made)
        _give(new, key, with_changes(made, parts=dict(drawn.surrogate.parts)), drawn)
        _edited(new, actor)
        SurrogateMention.objects.filter(pk__in=chosen).update(entity=new)
        kind = IdentifierType(row.kind)
        lost = keys_of(key, kind, moved_forms) - keys_of(key, kind, left)
        SurrogateKey.objects.filter(entity=row, digest__in=lost).update(entity=new)
        row.sealed = left.closed(key)
        _edited(row, actor)
        ENTITY_SPLIT.record(
            actor=actor,
            project_id=project.pk,
            data={"entity": row.pk, "into": new.pk, "mentions": len(chosen)},
        )
    return new


def lock(*, project: Project, entity: int, version: int, locked: bool, actor: User) -> None:
    """Lock an entity, so that nobody replaces its surrogate, or unlock it. Raises ServiceError `changed` or `gone`."""
    with transaction.atomic():
        lock_index(project)
        (row,) = _held(project, {entity: version})
        if row.locked == locked:
            return
        row.locked = locked
        # The surrogates of releases stay what they are, so this is no edit of theirs.
        row.version += 1
        row.save(update_fields=["locked", "version"])
        verb = SURROGATE_LOCKED if locked else SURROGATE_UNLOCKED
        verb.record(actor=actor, project_id=project.pk, data={"entity": row.pk})


def replace(*, project: Project, entity: int, version: int, text: str, actor: User) -> None:
    """Give an entity the surrogate that a person typed.

    Raises ServiceError `empty`, `long`, `format`, `original`, `taken`, `locked`, `changed` or `gone`.
    """
    text = " ".join(text.split())
    if not text:
        raise ServiceError(_("Type a surrogate."), code="empty")
    if len(text) > MOST_TYPED:
        raise ServiceError(_("A surrogate has at most %(most)d characters.") % {"most": MOST_TYPED}, code="long")
    with transaction.atomic():
        lock_index(project)
        (row,) = _held(project, {entity: version})
        _check_unlocked(row)
        key = project_key(project)
        sealed = opened(key, row)
        _change(row, key, sealed, typed(project, key, row, sealed, text), actor)
        SURROGATE_REPLACED.record(actor=actor, project_id=project.pk, data={"entity": row.pk})


def draw_another(*, project: Project, entity: int, version: int, actor: User) -> None:
    """Give an entity another surrogate, made by rules. Raises ServiceError `none`, `locked`, `changed` or `gone`."""
    with transaction.atomic():
        lock_index(project)
        (row,) = _held(project, {entity: version})
        _check_unlocked(row)
        key = project_key(project)
        sealed = opened(key, row)
        _change(row, key, sealed, draw(project, key, row, sealed), actor)
        SURROGATE_DRAWN.record(actor=actor, project_id=project.pk, data={"entity": row.pk})


def restore(*, project: Project, entity: int, version: int, actor: User) -> None:
    """Give an entity the surrogate that it had before the last change; a second call changes it back.

    Raises ServiceError `none`, `taken`, `locked`, `changed` or `gone`.
    """
    with transaction.atomic():
        lock_index(project)
        (row,) = _held(project, {entity: version})
        _check_unlocked(row)
        key = project_key(project)
        sealed = opened(key, row)
        if sealed.before is None:
            raise ServiceError(_("This entity had no other surrogate before."), code="none")
        made = Surrogate(IdentifierType(row.kind), sealed.before, sealed.before_by or BY_PERSON)
        digest = surrogate_digest(key, made.kind, surrogate_key(made))
        if digest and any(pk != row.pk for pk, _kind in taken(project, [digest]).get(digest, ())):
            raise ServiceError(
                _("Another entity has got the surrogate from before. Draw another one, or type one."), code="taken"
            )
        _change(row, key, sealed, DrawnSurrogate(made, digest), actor)
        SURROGATE_RESTORED.record(actor=actor, project_id=project.pk, data={"entity": row.pk})


def change(*, project: Project, entity: int, version: int, act: str, text: str = "", actor: User) -> None:
    """Do what `act` says: lock, unlock, replace (by `text`), draw or restore. Raises ServiceError as these do."""
    seen: Seen = {"project": project, "entity": entity, "version": version, "actor": actor}
    if act == "replace":
        replace(text=text, **seen)
    elif act == "draw":
        draw_another(**seen)
    elif act == "restore":
        restore(**seen)
    else:
        lock(locked=act == "lock", **seen)


def _held(project: Project, versions: Mapping[int, int]) -> list[SurrogateEntity]:
    """The entities, locked. Raises ServiceError `gone` or `changed`."""
    rows = list(SurrogateEntity.objects.select_for_update().filter(project=project, pk__in=versions).order_by("pk"))
    if len(rows) < len(versions):
        raise ServiceError(
            _("This entity no longer exists: it was merged, or its notes were erased. Reload the page."), code="gone"
        )
    if any(row.version != versions[row.pk] for row in rows):
        raise ServiceError(
            _("Somebody else has changed this entity meanwhile. Nothing was changed. Check it, then try again."),
            code="changed",
        )
    return rows


def _check_unlocked(row: SurrogateEntity) -> None:
    if row.locked:
        raise ServiceError(_("This entity is locked. Unlock it first."), code="locked")


def _change(row: SurrogateEntity, key: Key, sealed: Sealed, drawn: DrawnSurrogate, actor: User) -> None:
    """Store another surrogate, and keep the one from before for `restore`."""
    made = with_changes(sealed, parts=dict(drawn.surrogate.parts), before=sealed.parts, before_by=row.made_by)
    _give(row, key, made, drawn)
    _edited(row, actor)


def _give(row: SurrogateEntity, key: Key, sealed: Sealed, drawn: DrawnSurrogate) -> None:
    row.sealed = sealed.closed(key)
    row.surrogate_digest = drawn.digest
    row.made_by = drawn.surrogate.made_by[:60]


def _edited(row: SurrogateEntity, actor: User) -> None:
    row.version += 1
    row.edited_at, row.edited_by = timezone.now(), actor
    row.save()
