"""Which entity of the index each mention belongs to, and new surrogates for those that have none. Nothing is stored."""

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Final, NamedTuple

from annotations.core.bulk import among
from annotations.core.sealing import Key
from annotations.models import Project, SurrogateEntity, SurrogateMention
from annotations.release.rules.redaction.policy import IdentifierType
from annotations.release.rules.surrogates.clustering import identities, same_entity, surrogate_key
from annotations.release.rules.surrogates.folding import folded
from annotations.release.rules.surrogates.generating import order
from annotations.release.rules.surrogates.pipeline import (
    REPEATABLE,
    SHARED,
    Cluster,
    IndexedEntity,
    MentionInNote,
    Surrogate,
)
from annotations.release.rules.surrogates.writing import Writer
from annotations.release.selectors import surrogates as index
from annotations.release.services.surrogates.makers import Draft, Maker, PatientDrafts
from annotations.release.services.surrogates.patients import Patient, Where

MOST_ATTEMPTS: Final = 20
"""How many surrogates are made for an entity until one is new; then it gets one that repeats."""
STRICT_ATTEMPTS: Final = 8
"""So many of them must not be the name of anybody in the project; later ones only of nobody in the patient's notes."""


class StoredEntity(NamedTuple):
    """The row of an entity of the index: its primary key, and what the work depends on."""

    pk: int
    version: int = 1
    locked: bool = False


def stored_mentions(project: Project, notes: Iterable[int]) -> dict[Where, int]:
    """The entity of each mention that the index holds of these notes."""
    rows = SurrogateMention.objects.filter(document__in=among(notes), entity__project=project).order_by()
    return {
        (document, start, end): entity
        for document, start, end, entity in rows.values_list("document_id", "start", "end", "entity_id")
    }


@dataclass(slots=True, eq=False)
class Entity:
    """An entity during the work. `stored` is None for a new one, which gets its `surrogate` from a maker.

    `mentions`: those of this call, by patient. `unstored`: those that the index does not hold yet, or holds for another
    entity. `forms`, with their cues, and `keys` are new.
    """

    kind: IdentifierType
    scope: str
    language: str
    stored: StoredEntity | None = None
    sealed: index.EntitySecrets | None = None
    surrogate: Surrogate | None = None
    digest: str | None = None
    mentions: dict[int, list[MentionInNote]] = field(default_factory=dict)
    unstored: list[MentionInNote] = field(default_factory=list)
    forms: set[str] = field(default_factory=set)
    cues: dict[str, str] = field(default_factory=dict)
    keys: set[str] = field(default_factory=set)

    @property
    def all_forms(self) -> tuple[str, ...]:
        return index.in_order({*(self.sealed.forms if self.sealed else ()), *self.forms})

    def indexed(self, patient: int) -> IndexedEntity:
        """As an entity of the index, for this patient. A new one has the number 0, and perhaps no surrogate yet."""
        surrogate = self.surrogate or Surrogate(self.kind, {})
        pk, locked = (self.stored.pk, self.stored.locked) if self.stored else (0, False)
        own = bool(self.scope) or patient in self.mentions
        return IndexedEntity(pk, self.kind, self.all_forms, surrogate, locked, own)

    def cluster(self) -> Cluster:
        """All that is known of the entity."""
        mentions = [one for own in self.mentions.values() for one in own]
        if self.sealed is None:  # then the mentions have all forms
            return Cluster(self.kind, self.language, mentions)
        return index.cluster_of(self.kind, self.sealed_now(), mentions)

    def cluster_in(self, patient: int) -> Cluster:
        """The entity with its mentions in one patient's notes: what stands around the others is not of this patient."""
        if self.sealed is None and len(self.mentions) == 1:
            return Cluster(self.kind, self.language, self.mentions[patient])
        return index.cluster_of(self.kind, self.sealed_now(), self.mentions[patient])

    def sealed_now(self) -> index.EntitySecrets:
        """What to store."""
        if self.sealed is not None:
            return self.sealed.with_forms(self.forms, self.cues) if self.forms else self.sealed
        parts = dict(self.surrogate.parts) if self.surrogate else {}
        return index.EntitySecrets(index.in_order(self.forms), parts, self.language, self.cues)


@dataclass(slots=True)
class _Part:
    """A cluster of one patient, given by position, with further names that the maker gave it.

    `names`, and their digests, are those by which it is looked up. They are made only for clusters with mentions that
    the index lacks.
    """

    patient: int
    cluster: Cluster
    more: Sequence[str]
    names: list[str] = field(default_factory=list)
    digests: list[str] = field(default_factory=list)


class Plan:
    """What one call is going to store. Make a new plan after every change of the index."""

    def __init__(
        self,
        project: Project,
        key: Key,
        maker: Maker,
        patients: Sequence[Patient],
        clusters: Sequence[Sequence[Cluster]],
        avoid: Container[str] = (),
    ) -> None:
        """`clusters` of each patient. `avoid`: folded names that no surrogate may be (patients.Originals)."""
        self.project, self.key = project, key
        self.entities: list[Entity] = []
        self._maker, self._patients, self._avoid = maker, patients, avoid
        self._loaded: dict[int, Entity] = {}
        # Entities by the digest of a name, then by kind and scope.
        self._by_digest: dict[str, dict[tuple[str, str], Entity]] = {}
        self._digest = cache(partial(index.identity_digest, key))
        self._originals: dict[int, frozenset[str]] = {}
        # Kinds of the new entities with a surrogate, by its digest.
        self._used: dict[str, set[IdentifierType]] = {}
        self._by_patient: dict[int, list[Entity]] = {}
        self._parts = [
            [_Part(at, cluster, names) for cluster, names in zip(own, more, strict=True)]
            for at, (own, more) in enumerate(zip(clusters, maker.names(clusters), strict=True))
        ]

    def make(self) -> None:
        """Find the entity of each mention, and make the surrogates of new entities."""
        self._match()
        self._generate()

    def written(self, present: Collection[int]) -> dict[Where, str]:
        """What to write for each mention of the notes that are still present."""
        found = {}
        for entity in self.entities:
            if entity.surrogate is None:
                continue
            writer = Writer(entity.surrogate, entity.cluster())
            for own in entity.mentions.values():
                for one in own:
                    if one.note in present:
                        found[one[:3]] = writer.write(one)
        return found

    # Matching.

    def _names_of(self, part: _Part) -> list[str]:
        """The names by which a cluster is looked up, the most specific first."""
        if not part.names:
            names = dict.fromkeys(identities(part.cluster))
            for name in part.more:
                names |= dict.fromkeys(identities(index.known_by(part.cluster.kind, part.cluster.language, [name])))
            part.names = list(names)
        return part.names

    def _match(self) -> None:
        """Find the entity of each cluster: the one that its mentions had before, one of the index, or a new one."""
        stored = stored_mentions(self.project, {one.note for each in self._patients for one in each.mentions})
        self._load(set(stored.values()))
        unknown = [rest for own in self._parts for part in own if (rest := self._keep(part, stored))]
        for part in unknown:
            part.digests = [self._digest(name) for name in self._names_of(part)]
        looked_up = index.entities_by_digest(self.project, {digest for part in unknown for digest in part.digests})
        self._load({pk for found in looked_up.values() for pk in found.values()} - self._loaded.keys())
        for digest, owners in looked_up.items():
            loaded = {whose: self._loaded[pk] for whose, pk in owners.items() if pk in self._loaded}
            if loaded:
                self._by_digest[digest] = loaded
        candidates = [[one for one in self._near(part) if one.stored is not None] for part in unknown]
        asked = [
            (part.cluster, [entity.indexed(part.patient) for entity in found])
            for part, found in zip(unknown, candidates, strict=True)
            if found
        ]
        decided = iter(self._maker.decide(asked))
        for part, found in zip(unknown, candidates, strict=True):
            chosen = next(decided) if found else None
            entity = self._loaded.get(chosen.pk) if chosen else None
            self._attach(part, entity or self._drafted(part))

    def _load(self, pks: Collection[int]) -> None:
        rows = SurrogateEntity.objects.filter(project=self.project, pk__in=among(pks)).order_by()
        columns = ("pk", "version", "locked", "kind", "scope", "sealed", "made_by", "surrogate_digest")
        for pk, version, locked, code, scope, closed, made_by, digest in rows.values_list(*columns):
            sealed, kind = index.unsealed(self.key, bytes(closed)), IdentifierType(code)
            surrogate = Surrogate(kind, sealed.parts, made_by)
            stored = StoredEntity(pk, version, locked)
            self._loaded[pk] = Entity(kind, scope, sealed.language, stored, sealed, surrogate, digest)

    def _keep(self, part: _Part, stored: Mapping[Where, int]) -> _Part | None:
        """Give mentions to the entities that they had before; return the others, or None.

        A mention that is equal to one of those is of the same entity, because a person may have split the cluster.
        """
        mentions = part.cluster.mentions
        had = [self._loaded.get(stored.get(one[:3], 0)) for one in mentions]
        if not any(had):
            return part
        by_text: dict[str, Entity] = {}
        rest = []
        for one, entity in zip(mentions, had, strict=True):
            if entity is not None and entity.kind in index.kinds_with(one.kind):
                by_text.setdefault(one.text, entity)
                self._add(part.patient, entity, one, stored=True)
            else:
                rest.append(one)
        if not by_text:
            return part
        unlike = []
        for one in rest:
            same = by_text.get(one.text)
            if same is None:
                unlike.append(one)
            else:
                self._add(part.patient, same, one)
        if not unlike:
            return None
        cluster = Cluster(part.cluster.kind, part.cluster.language, unlike)
        names = dict.fromkeys([*identities(cluster), *self._names_of(part)])
        return _Part(part.patient, cluster, part.more, list(names))

    def _near(self, part: _Part) -> list[Entity]:
        """Entities with a name of the cluster, the fullest name first: the patient's own ones, and shared ones."""
        kind, own = part.cluster.kind, self._patients[part.patient].scope
        found: dict[Entity, None] = {}
        for digest in part.digests:
            if owners := self._by_digest.get(digest):
                for each in sorted(index.kinds_with(kind), key=lambda each: each != kind):
                    for scope in (own, ""):
                        if entity := owners.get((each, scope)):
                            found[entity] = None
        return list(found)

    def _drafted(self, part: _Part) -> Entity:
        """A new entity, or the one that another patient's cluster of this call has just got."""
        for draft in self._near(part):
            shared = draft.stored is None and not draft.scope
            if shared and same_entity(part.cluster, [draft.indexed(part.patient)]) is not None:
                return draft
        scope = "" if part.cluster.kind in SHARED else self._patients[part.patient].scope
        return Entity(part.cluster.kind, scope, part.cluster.language)

    def _attach(self, part: _Part, entity: Entity) -> None:
        for one in part.cluster.mentions:
            self._add(part.patient, entity, one)
        whose = (entity.kind, entity.scope)
        for digest in part.digests:
            if self._by_digest.setdefault(digest, {}).setdefault(whose, entity) is entity:
                entity.keys.add(digest)

    def _add(self, patient: int, entity: Entity, one: MentionInNote, *, stored: bool = False) -> None:
        if not entity.mentions:
            self.entities.append(entity)
        entity.mentions.setdefault(patient, []).append(one)
        if not stored:
            entity.unstored.append(one)
        if one.text not in entity.forms and (entity.sealed is None or one.text not in entity.sealed.forms):
            entity.forms.add(one.text)
            if cue := index.cue_of(entity.kind, one.before):
                entity.cues[one.text] = cue

    # Generating.

    def _generate(self) -> None:
        """Make surrogates until each is new. Those of a patient are made again together, because they must agree."""
        for entity in self.entities:
            for patient in entity.mentions:
                self._by_patient.setdefault(patient, []).append(entity)
        drafts: dict[int, list[tuple[Entity, Draft]]] = {}
        for entity in self.entities:
            if entity.stored is None:
                patient = next(iter(entity.mentions))
                draft = Draft(entity.cluster_in(patient), entity.scope, self._avoided(patient))
                drafts.setdefault(patient, []).append((entity, draft))
        for own in drafts.values():
            own.sort(key=lambda each: order(each[1].cluster))
        refused: set[Entity] = set()
        # Where to begin in each patient's drafts: those before the first refused one stay.
        begin = dict.fromkeys(drafts, 0)
        while begin:
            wanted = [self._wanted(patient, drafts[patient][first:]) for patient, first in begin.items()]
            changed = []
            for (patient, first), made in zip(begin.items(), self._maker.generate(wanted), strict=True):
                for (entity, draft), surrogate in zip(drafts[patient][first:], made, strict=True):
                    if entity.surrogate != surrogate or entity in refused:
                        self._forget(entity)
                        entity.surrogate = surrogate
                        changed.append((entity, draft))
            refused = self._refused(changed)
            found = {
                patient: [at for at, (entity, _draft) in enumerate(drafts[patient]) if entity in refused]
                for patient in begin
            }
            begin = {patient: positions[0] for patient, positions in found.items() if positions}

    def _wanted(self, patient: int, drafts: Sequence[tuple[Entity, Draft]]) -> PatientDrafts:
        new = {entity for entity, _draft in drafts}
        known = [one for one in self._by_patient[patient] if one.surrogate is not None and one not in new]
        own = [entity.indexed(patient) for entity in known if entity.scope]
        shared = [entity.indexed(patient) for entity in known if not entity.scope]
        return PatientDrafts([draft for _entity, draft in drafts], own, shared, self._patients[patient].days)

    def _forget(self, entity: Entity) -> None:
        """Free the surrogate that an entity had in this call."""
        if entity.digest is not None:
            self._used[entity.digest].discard(entity.kind)
            entity.digest = None

    def _refused(self, drafts: Sequence[tuple[Entity, Draft]]) -> set[Entity]:
        """The new entities whose surrogates can't be used. Counts their attempts."""
        made = [(entity, draft, entity.surrogate) for entity, draft in drafts if entity.surrogate is not None]
        digests = [index.surrogate_digest(self.key, entity.kind, surrogate_key(one)) for entity, _draft, one in made]
        names = [index.named_as(draft.cluster, one) for _entity, draft, one in made]
        owned = index.owners_of(self.project, {digest for digest in digests if digest})
        originals = index.entities_by_digest(self.project, {self._digest(name) for own in names for name in own})
        refused = set()
        for (entity, draft, surrogate), digest, own in zip(made, digests, names, strict=True):
            among = index.kinds_with(entity.kind)
            repeats = digest is not None and (
                bool(among & self._used.get(digest, set())) or any(kind in among for _pk, kind in owned.get(digest, ()))
            )
            original = draft.attempt < STRICT_ATTEMPTS and self._is_original(entity, own, originals)
            if (repeats or original) and draft.attempt < MOST_ATTEMPTS:
                draft.attempt += 1
                draft.refused.append(surrogate)
                refused.add(entity)
            elif digest is not None and not repeats:
                entity.digest = digest
                self._used.setdefault(digest, set()).add(entity.kind)
        return refused

    def _is_original(
        self, entity: Entity, names: Sequence[str], originals: Mapping[str, Mapping[tuple[str, str], int]]
    ) -> bool:
        """Whether a surrogate with these names is one of the project's originals, by the index or in this call.

        The first name, a full one, may be nobody's; parts of names only those of others than the patient.
        """
        among, scopes = index.kinds_with(entity.kind), ("", entity.scope)
        if names and names[0] in self._avoid:
            return True
        for at, name in enumerate(names):
            digest = self._digest(name)
            if any(kind in among and (at == 0 or scope in scopes) for kind, scope in originals.get(digest, ())):
                return True
            if any(kind in among and scope in scopes for kind, scope in self._by_digest.get(digest, ())):
                return True
        return False

    def _avoided(self, patient: int) -> frozenset[str]:
        """Folded texts that a patient's surrogates must not be or contain: what the patient's notes say."""
        if patient not in self._originals:
            words = {
                folded(one.text)
                for entity in self._by_patient.get(patient, ())
                if entity.kind not in REPEATABLE
                for one in entity.mentions[patient]
            }
            parts = (part for part in self._parts[patient] if part.cluster.kind not in REPEATABLE)
            self._originals[patient] = frozenset(words.union(*map(self._names_of, parts)))
        return self._originals[patient]
