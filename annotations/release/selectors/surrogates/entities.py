"""Entities of the index for pages: forms, surrogates, mentions in their sentences."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.db.models import Count, Min, Q, QuerySet
from django.utils.translation import gettext_lazy as _

from annotations.core.access import Access
from annotations.core.events import record_reads
from annotations.core.sealing import project_key
from annotations.models import Document, Project, SurrogateEntity, SurrogateKey, SurrogateMention
from annotations.notes.selectors.in_context import Entry, LabelLook, with_entries
from annotations.release.rules.redaction.kinds import Kind
from annotations.release.rules.surrogates.deciding import identities, surrogate_key
from annotations.release.rules.surrogates.folding import folded
from annotations.release.rules.surrogates.people import read_person
from annotations.release.rules.surrogates.pipeline import Surrogate
from annotations.release.rules.surrogates.writing import Writer, part_name
from annotations.release.selectors.surrogates.index import (
    cluster_of,
    form_number,
    identity_digest,
    opened,
    surrogate_digest,
    surrogate_of,
)
from annotations.release.selectors.surrogates.names import known_by

KIND_NAMES: Final = {
    Kind.NAME: _("Names"),
    Kind.STAFF: _("Staff"),
    Kind.USERNAME: _("User names"),
    Kind.AGE: _("Ages"),
    Kind.DATE: _("Dates"),
    Kind.PROFESSION: _("Professions"),
    Kind.HOSPITAL: _("Hospitals"),
    Kind.ORGANIZATION: _("Organizations"),
    Kind.STREET: _("Streets"),
    Kind.ZIP: _("ZIP codes"),
    Kind.CITY: _("Cities"),
    Kind.REGION: _("Regions"),
    Kind.COUNTRY: _("Countries"),
    Kind.LOCATION: _("Locations"),
    Kind.PHONE: _("Phone numbers"),
    Kind.FAX: _("Fax numbers"),
    Kind.EMAIL: _("E-mail addresses"),
    Kind.URL: _("Web addresses"),
    Kind.IP: _("IP addresses"),
    Kind.NATIONAL_ID: _("National IDs"),
    Kind.RECORD: _("Medical records"),
    Kind.HEALTH_PLAN: _("Health plans"),
    Kind.ACCOUNT: _("Accounts"),
    Kind.LICENSE: _("Licenses"),
    Kind.VEHICLE: _("Vehicles"),
    Kind.DEVICE: _("Devices"),
    Kind.BIOMETRIC: _("Biometric identifiers"),
    Kind.ID: _("Other numbers"),
    Kind.SEX: _("Sexes"),
    Kind.FAMILY: _("Family"),
    Kind.ETHNICITY: _("Ethnicities"),
    Kind.OTHER: _("Other"),
}
STATES: Final = ("all", "locked", "edited")
# Entities that one search finds.
MOST_FOUND: Final = 200


@dataclass(frozen=True, slots=True)
class Form:
    """A form of an entity, what is written in its place, and how many mentions have it."""

    original: str
    written: str
    mentions: int


@dataclass(frozen=True, slots=True)
class Shown:
    """An entity for a page. `whose` is the patient's id, or the name of the note; empty for a shared entity."""

    row: SurrogateEntity
    forms: Sequence[Form]
    mentions: int
    whose: str
    restorable: bool

    @property
    def kind_name(self) -> object:
        return KIND_NAMES[Kind(self.row.kind)]


def entities_of(project: Project, kind: str = "", state: str = "all") -> QuerySet[SurrogateEntity]:
    """The project's entities of a kind, all by default; `state` is one of STATES."""
    rows = SurrogateEntity.objects.filter(project=project)
    if kind:
        rows = rows.filter(kind=kind)
    if state == "locked":
        rows = rows.filter(locked=True)
    if state == "edited":
        rows = rows.exclude(edited_at=None)
    return rows.order_by("kind", "pk")


def counts_by_kind(project: Project) -> dict[Kind, int]:
    """How many entities the index has of each kind that occurs, in the order of KIND_NAMES."""
    rows = SurrogateEntity.objects.filter(project=project).order_by().values_list("kind").annotate(Count("pk"))
    found = dict(rows)
    return {kind: found[kind] for kind in KIND_NAMES if kind in found}


def found_by(project: Project, text: str) -> QuerySet[SurrogateEntity]:
    """Entities with this name or part of a name, or with this surrogate, whatever the case and the accents.

    A name may begin with the surname ("Wilson Adam"). The index holds digests of whole names and of their parts only,
    so it doesn't find other parts of words.
    """
    key = project_key(project)
    words = text.split()
    orders = dict.fromkeys([text, " ".join(words[1:] + words[:1]), " ".join(words[-1:] + words[:-1])])
    names = {
        name
        for kind in (Kind.STAFF, Kind.HOSPITAL, Kind.ID, Kind.EMAIL)
        for order in orders
        for name in identities(known_by(kind, project.language, [order]))
    }
    by_name = SurrogateKey.objects.filter(project=project, digest__in=[identity_digest(key, name) for name in names])
    person = read_person(text, project.language)
    parts = {part_name(part.role, part.index): part.text for part in person.parts}
    values = {folded(text), "".join(text.split()).casefold(), "".join(filter(str.isalnum, text)).casefold()}
    values.add(surrogate_key(Surrogate(Kind.NAME, parts)))
    digests = [surrogate_digest(key, Kind.ID, value) for value in values if value]
    named_so = Q(pk__in=by_name.values("entity")) | Q(surrogate_digest__in=digests)
    return SurrogateEntity.objects.filter(named_so, project=project).order_by("kind", "pk")


def shown(access: Access, rows: Sequence[SurrogateEntity]) -> list[Shown]:
    """What a page shows of these entities, with a fixed number of queries.

    Records the first note of each as read, since its forms are text of notes.
    """
    key = project_key(access.project)
    mentions = SurrogateMention.objects.filter(entity__in=rows).order_by()
    counts: dict[int, dict[int, int]] = {}
    for entity, form, number in mentions.values_list("entity", "form").annotate(Count("pk")):
        counts.setdefault(entity, {})[form] = number
    firsts = dict(mentions.values_list("entity").annotate(Min("document")))
    record_reads(actor=access.user, project_id=access.project.pk, notes=firsts.values(), what="surrogates")
    notes = Document.objects.filter(pk__in=firsts.values()).values_list("pk", "patient_id", "name")
    owners = {pk: patient or name for pk, patient, name in notes}
    found = []
    for row in rows:
        sealed, own = opened(key, row), counts.get(row.pk, {})
        writer = Writer(surrogate_of(row, sealed), cluster_of(Kind(row.kind), sealed))
        forms = [
            Form(one.text, writer.write(one), own.get(form_number(key, one.text), 0))
            for one in sealed.mentions(Kind(row.kind))
        ]
        whose = owners.get(firsts.get(row.pk, 0), "") if row.scope else ""
        found.append(Shown(row, forms, sum(own.values()), whose, sealed.before is not None))
    return found


@dataclass(frozen=True, slots=True)
class MentionLine:
    """A mention in its sentence."""

    mention: SurrogateMention
    entry: Entry


def mention_lines(access: Access, mentions: Sequence[SurrogateMention]) -> list[MentionLine]:
    """The mentions in their sentences. Records each of their notes as read."""
    looks = {"": LabelLook("", "")}
    rows = [(one.document_id, str(one.pk), [one.start, one.end, ""], None) for one in mentions]
    by_pk = {str(one.pk): one for one in mentions}
    found = [MentionLine(by_pk[entry.kind], entry) for _row, entry in with_entries(rows, looks)]
    notes = (line.entry.note for line in found)
    record_reads(actor=access.user, project_id=access.project.pk, notes=notes, what="surrogates")
    return found


def edited_since(project: Project, moment: datetime) -> bool:
    """Whether a person has edited the index since, so that a release prepared before has other surrogates."""
    return SurrogateEntity.objects.filter(project=project, edited_at__gt=moment).exists()
