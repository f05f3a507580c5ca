"""A new surrogate for one entity of the index, drawn by rules or typed by a person."""

from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext as _

from annotations.core.errors import ServiceError
from annotations.core.sealing import Key
from annotations.models import Project, SurrogateEntity
from annotations.release.rules.redaction.kinds import Kind
from annotations.release.rules.surrogates.deciding import identities, surrogate_key
from annotations.release.rules.surrogates.folding import folded
from annotations.release.rules.surrogates.generating.rules import RuleGenerator
from annotations.release.rules.surrogates.pipeline import Around, Indexed, Surrogate
from annotations.release.rules.surrogates.typed import parts_of
from annotations.release.selectors.surrogates.index import (
    Sealed,
    cluster_of,
    identity_digest,
    kinds_with,
    named,
    opened,
    surrogate_digest,
    surrogate_of,
    taken,
)
from annotations.release.selectors.surrogates.names import named_as
from annotations.release.services.surrogates.date_offsets import date_offset
from annotations.release.services.surrogates.makers import generator_source
from annotations.release.services.surrogates.planning import MOST_ATTEMPTS, STRICT_ATTEMPTS

MOST_RELATED: Final = 300
"""Entities that a new surrogate is made to agree with: more are of no use to it."""
BY_PERSON: Final = "person"


@dataclass(frozen=True, slots=True)
class Drawn:
    """A surrogate that no other entity has, and the digest under which the index stores it."""

    surrogate: Surrogate
    digest: str | None


def draw(project: Project, key: Key, row: SurrogateEntity, sealed: Sealed) -> Drawn:
    """Make another surrogate for an entity by rules. Raises ServiceError `none` if all that can be made are taken."""
    cluster = cluster_of(Kind(row.kind), sealed)
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
            return Drawn(made, surrogate_digest(key, made.kind, surrogate_key(made)))
    raise ServiceError(_("No other surrogate could be made for this entity. Type one instead."), code="none")


def typed(project: Project, key: Key, row: SurrogateEntity, sealed: Sealed, text: str) -> Drawn:
    """Read a surrogate that a person typed. Raises ServiceError `format`, `original` or `taken`."""
    parts = parts_of(cluster_of(Kind(row.kind), sealed), text)
    if parts is None:
        raise ServiceError(
            _("This surrogate has another format than the original. Type a full name, or as many words or digits."),
            code="format",
        )
    made = Surrogate(Kind(row.kind), parts, BY_PERSON)
    problem = problem_with(project, key, row, sealed, made)
    if problem == "original":
        raise ServiceError(
            _("The notes of this project name somebody or something like this. Type another surrogate."),
            code="original",
        )
    if problem == "taken":
        raise ServiceError(_("Another entity has this surrogate. Type another one."), code="taken")
    return Drawn(made, surrogate_digest(key, made.kind, surrogate_key(made)))


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
        found.append(Indexed(each.pk, Kind(each.kind), sealed.forms, surrogate_of(each, sealed), each.locked, own=True))
    return found
