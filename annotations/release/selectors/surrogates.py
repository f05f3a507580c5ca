"""Entities of the index for pages: forms, surrogates, mentions in their sentences."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from django.db.models import Count, Min, Q, QuerySet
from django.shortcuts import get_object_or_404
from django.utils.translation import gettext as _

from annotations.core.access import Access
from annotations.core.bulk import among
from annotations.core.sealing import Key, project_key
from annotations.core.services import record_reads
from annotations.models import Document, Project, SurrogateEntity, SurrogateKey, SurrogateMention
from annotations.notes.selectors.in_context import Entry, LabelLook, with_entries
from annotations.release.rules.redaction.policy import PEOPLE, IdentifierType
from annotations.release.rules.surrogates.clustering import identities, surrogate_key
from annotations.release.rules.surrogates.folding import folded
from annotations.release.rules.surrogates.people import FAMILY, GIVEN, field_of, read_person, title_before
from annotations.release.rules.surrogates.pipeline import REPEATABLE, Cluster, MentionInNote, Surrogate, longest_first
from annotations.release.rules.surrogates.writing import Writer, part_name

# The index of surrogates as stored: what is sealed in an entity, and the keyed digests by which it is found.


@dataclass(frozen=True, slots=True)
class EntitySecrets:
    """What an entity keeps secret. `parts` by name as in rules.surrogates; `before`: the parts that a person replaced.

    `cues`: for forms that a field's name or a title explains ("Surname:"), words that say the same of them.
    `before_by` is who had made `before`: an entity's `made_by`.
    """

    forms: tuple[str, ...]
    parts: dict[str, str]
    language: str
    cues: dict[str, str] = field(default_factory=dict)
    before: dict[str, str] | None = None
    before_by: str = ""

    def closed(self, key: Key) -> bytes:
        return key.seal({name: getattr(self, name) for name in self.__slots__})

    def with_forms(self, forms: Iterable[str], cues: Mapping[str, str]) -> "EntitySecrets":
        """The same with more forms, longest first. Cues of known forms stay."""
        return replace(self, forms=in_order({*self.forms, *forms}), cues={**cues, **self.cues})

    def only(self, forms: Collection[str]) -> "EntitySecrets":
        """The same with these of its forms."""
        kept = tuple(form for form in self.forms if form in forms)
        return replace(self, forms=kept, cues={form: cue for form, cue in self.cues.items() if form in forms})

    def mentions(self, kind: IdentifierType) -> list[MentionInNote]:
        """The forms as mentions without a note."""
        return [MentionInNote(0, 0, len(form), kind, form, self.cues.get(form, "")) for form in self.forms]


def in_order(forms: Collection[str]) -> tuple[str, ...]:
    return tuple(longest_first(forms))


_CUES: Final = {FAMILY: "Surname: ", GIVEN: "Given name: "}
_TITLES: Final = {"f": "Mrs. ", "m": "Mr. ", "": "Dr. "}


def cue_of(kind: IdentifierType, before: str) -> str:
    """Words that say of a person's name what the text before it says, without that text; mostly empty."""
    if kind not in PEOPLE or not before:
        return ""
    title = title_before(before)
    return _CUES.get(field_of(before), "" if title is None else _TITLES.get(title, ""))


def opened(key: Key, row: SurrogateEntity) -> EntitySecrets:
    """Decrypt what an entity keeps secret. Raises OtherSecretKey under another secret key."""
    return unsealed(key, bytes(row.sealed))


def unsealed(key: Key, sealed: bytes) -> EntitySecrets:
    """Decrypt an entity's column `sealed`. Raises OtherSecretKey under another secret key."""
    found: dict[str, Any] = key.open(sealed)
    found["forms"] = tuple(found["forms"])
    return EntitySecrets(**found)


def surrogate_of(row: SurrogateEntity, sealed: EntitySecrets) -> Surrogate:
    return Surrogate(IdentifierType(row.kind), sealed.parts, row.made_by)


def cluster_of(kind: IdentifierType, sealed: EntitySecrets, mentions: Sequence[MentionInNote] = ()) -> Cluster:
    """The cluster of an entity: its mentions, and its other known forms as mentions without a note."""
    if not mentions:
        return Cluster(kind, sealed.language, sealed.mentions(kind))
    here = {mention.text for mention in mentions}
    if here.issuperset(sealed.forms):
        return Cluster(kind, sealed.language, mentions)
    return Cluster(kind, sealed.language, [*mentions, *(one for one in sealed.mentions(kind) if one.text not in here)])


def private_scope(key: Key, patient: str, document: int) -> str:
    """The scope of what belongs to one patient, or to one note where the note has no patient."""
    about = ("patient", patient) if patient else ("note", str(document))
    return key.hexdigest("surrogate scope", *about)[:32]


def identity_digest(key: Key, identity: str) -> str:
    """The digest of a folded name or part of a name, whatever the kind of entity."""
    return key.hexdigest("surrogate identity", identity)[:32]


def surrogate_digest(key: Key, kind: IdentifierType, folded: str) -> str | None:
    """The digest under which a surrogate is unique in its project; None for kinds whose surrogates may repeat."""
    return None if kind in REPEATABLE or not folded else key.hexdigest("surrogate", folded)[:32]


def form_number(key: Key, text: str) -> int:
    return key.number("surrogate form", text)


def kinds_with(kind: IdentifierType) -> frozenset[IdentifierType]:
    """The kinds among which a surrogate may not occur twice: no patient has the surrogate name of a physician."""
    return PEOPLE if kind in PEOPLE else frozenset({kind})


def owners_of(project: Project, digests: Collection[str]) -> dict[str, set[tuple[int, str]]]:
    """The entities, as (id, kind), that have these surrogates, by digest of the surrogate."""
    found: dict[str, set[tuple[int, str]]] = {}
    rows = SurrogateEntity.objects.filter(project=project, surrogate_digest__in=among(digests)).order_by()
    for digest, pk, kind in rows.values_list("surrogate_digest", "pk", "kind"):
        found.setdefault(str(digest), set()).add((pk, kind))
    return found


def entities_by_digest(project: Project, digests: Collection[str]) -> dict[str, dict[tuple[str, str], int]]:
    """The entities of the project that are found by these digests: by digest, then by kind and scope."""
    found: dict[str, dict[tuple[str, str], int]] = {}
    rows = SurrogateKey.objects.filter(project=project, digest__in=among(digests)).order_by()
    for digest, kind, scope, entity in rows.values_list("digest", "kind", "scope", "entity_id"):
        found.setdefault(digest, {})[kind, scope] = entity
    return found


# The keys by which an entity with given forms is found.


def known_by(kind: IdentifierType, language: str, forms: Sequence[str]) -> Cluster:
    """An entity of which only its forms are known."""
    return Cluster(kind, language, [MentionInNote(0, 0, len(form), kind, form) for form in forms])


def named_as(cluster: Cluster, surrogate: Surrogate) -> list[str]:
    """The folded names of a surrogate, which must not be those of an entity; none for kinds whose values may repeat."""
    if cluster.kind in REPEATABLE:
        return []
    if cluster.kind in PEOPLE:
        given, family = (
            folded(" ".join(text for name, text in sorted(surrogate.parts.items()) if name.startswith(group)))
            for group in (GIVEN, FAMILY)
        )
        names = [f"{given} {family}".strip(), family or given]
    else:
        names = identities(known_by(cluster.kind, cluster.language, [surrogate.parts.get("value", "")]))
    # Initials alone name nobody.
    return [name for name in names if any(len(word) > 1 for word in name.split())]


def keys_of(key: Key, kind: IdentifierType, sealed: EntitySecrets) -> set[str]:
    """The digests of the names of an entity: of all its forms together, and of each one."""
    if not sealed.forms:
        return set()
    mentions = sealed.mentions(kind)
    names = dict.fromkeys(identities(Cluster(kind, sealed.language, mentions)))
    for one in mentions:
        names |= dict.fromkeys(identities(Cluster(kind, sealed.language, [one])))
    return {identity_digest(key, name) for name in names}


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
class EntityView:
    """An entity for a page. `whose` is the patient's id, or the name of the note; empty for a shared entity."""

    row: SurrogateEntity
    forms: Sequence[Form]
    mentions: int
    whose: str
    restorable: bool

    @property
    def kind_name(self) -> str:
        return _(IdentifierType(self.row.kind).words)


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


def entity_for(access: Access, pk: int) -> SurrogateEntity:
    """An entity of the project. Raises Http404."""
    return get_object_or_404(SurrogateEntity.objects.select_related("edited_by"), project=access.project, pk=pk)


def counts_by_kind(project: Project) -> dict[IdentifierType, int]:
    """How many entities the index has of each kind that occurs, in the order of menus."""
    rows = SurrogateEntity.objects.filter(project=project).order_by().values_list("kind").annotate(Count("pk"))
    found = dict(rows)
    return {kind: found[kind] for kind in IdentifierType if kind in found}


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
        for kind in (IdentifierType.STAFF, IdentifierType.HOSPITAL, IdentifierType.ID, IdentifierType.EMAIL)
        for order in orders
        for name in identities(known_by(kind, project.language, [order]))
    }
    by_name = SurrogateKey.objects.filter(project=project, digest__in=[identity_digest(key, name) for name in names])
    person = read_person(text, project.language)
    parts = {part_name(part.role, part.index): part.text for part in person.parts}
    values = {folded(text), "".join(text.split()).casefold(), "".join(filter(str.isalnum, text)).casefold()}
    values.add(surrogate_key(Surrogate(IdentifierType.NAME, parts)))
    digests = [surrogate_digest(key, IdentifierType.ID, value) for value in values if value]
    named_so = Q(pk__in=by_name.values("entity")) | Q(surrogate_digest__in=digests)
    return SurrogateEntity.objects.filter(named_so, project=project).order_by("kind", "pk")


def shown(access: Access, rows: Sequence[SurrogateEntity]) -> list[EntityView]:
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
        writer = Writer(surrogate_of(row, sealed), cluster_of(IdentifierType(row.kind), sealed))
        forms = [
            Form(one.text, writer.write(one), own.get(form_number(key, one.text), 0))
            for one in sealed.mentions(IdentifierType(row.kind))
        ]
        whose = owners.get(firsts.get(row.pk, 0), "") if row.scope else ""
        found.append(EntityView(row, forms, sum(own.values()), whose, sealed.before is not None))
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
