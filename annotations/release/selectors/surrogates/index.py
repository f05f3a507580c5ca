"""The index of surrogates as stored: what is sealed in an entity, and the keyed digests by which it is found."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Final, TypeVar

from annotations.core.among import among
from annotations.core.sealing import Key
from annotations.models import Project, SurrogateEntity, SurrogateKey
from annotations.release.rules.redaction.kinds import Kind
from annotations.release.rules.surrogates.clustering import PEOPLE
from annotations.release.rules.surrogates.people import FAMILY, GIVEN, field_of, title_before
from annotations.release.rules.surrogates.pipeline import REPEATABLE, Cluster, Mentioned, Surrogate, longest_first

# Values in one query: SQLite allows 250,000, and plans of long lists get slow.
AT_ONCE: Final = 5000
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Sealed:
    """What an entity keeps secret. `parts` by name as in domain.surrogates; `before`: the parts that a person replaced.

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

    def with_forms(self, forms: Iterable[str], cues: Mapping[str, str]) -> "Sealed":
        """The same with more forms, longest first. Cues of known forms stay."""
        return replace(self, forms=in_order({*self.forms, *forms}), cues={**cues, **self.cues})

    def only(self, forms: Collection[str]) -> "Sealed":
        """The same with these of its forms."""
        kept = tuple(form for form in self.forms if form in forms)
        return replace(self, forms=kept, cues={form: cue for form, cue in self.cues.items() if form in forms})

    def mentions(self, kind: Kind) -> list[Mentioned]:
        """The forms as mentions without a note."""
        return [Mentioned(0, 0, len(form), kind, form, self.cues.get(form, "")) for form in self.forms]


def in_order(forms: Collection[str]) -> tuple[str, ...]:
    return tuple(longest_first(forms))


_CUES: Final = {FAMILY: "Surname: ", GIVEN: "Given name: "}
_TITLES: Final = {"f": "Mrs. ", "m": "Mr. ", "": "Dr. "}


def cue_of(kind: Kind, before: str) -> str:
    """Words that say of a person's name what the text before it says, without that text; mostly empty."""
    if kind not in PEOPLE or not before:
        return ""
    title = title_before(before)
    return _CUES.get(field_of(before), "" if title is None else _TITLES.get(title, ""))


def opened(key: Key, row: SurrogateEntity) -> Sealed:
    """Decrypt what an entity keeps secret. Raises OtherSecretKey under another secret key."""
    return unsealed(key, bytes(row.sealed))


def unsealed(key: Key, sealed: bytes) -> Sealed:
    """Decrypt an entity's column `sealed`. Raises OtherSecretKey under another secret key."""
    found: dict[str, Any] = key.open(sealed)
    found["forms"] = tuple(found["forms"])
    return Sealed(**found)


def surrogate_of(row: SurrogateEntity, sealed: Sealed) -> Surrogate:
    return Surrogate(Kind(row.kind), sealed.parts, row.made_by)


def cluster_of(kind: Kind, sealed: Sealed, mentions: Sequence[Mentioned] = ()) -> Cluster:
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


def surrogate_digest(key: Key, kind: Kind, folded: str) -> str | None:
    """The digest under which a surrogate is unique in its project; None for kinds whose surrogates may repeat."""
    return None if kind in REPEATABLE or not folded else key.hexdigest("surrogate", folded)[:32]


def form_number(key: Key, text: str) -> int:
    return key.number("surrogate form", text)


def kinds_with(kind: Kind) -> frozenset[Kind]:
    """The kinds among which a surrogate may not occur twice: no patient has the surrogate name of a physician."""
    return PEOPLE if kind in PEOPLE else frozenset({kind})


def taken(project: Project, digests: Collection[str]) -> dict[str, set[tuple[int, str]]]:
    """Which entities have these surrogates, with their kinds, by digest."""
    found: dict[str, set[tuple[int, str]]] = {}
    for some in in_parts(sorted(digests)):
        rows = SurrogateEntity.objects.filter(project=project, surrogate_digest__in=among(some)).order_by()
        for digest, pk, kind in rows.values_list("surrogate_digest", "pk", "kind"):
            found.setdefault(str(digest), set()).add((pk, kind))
    return found


def named(project: Project, digests: Collection[str]) -> dict[str, dict[tuple[str, str], int]]:
    """The entities of the project that are found by these digests: by digest, then by kind and scope."""
    found: dict[str, dict[tuple[str, str], int]] = {}
    for some in in_parts(sorted(digests)):
        rows = SurrogateKey.objects.filter(project=project, digest__in=among(some)).order_by()
        for digest, kind, scope, entity in rows.values_list("digest", "kind", "scope", "entity_id"):
            found.setdefault(digest, {})[kind, scope] = entity
    return found


def in_parts(values: Iterable[T]) -> Iterator[list[T]]:
    """Lists of at most AT_ONCE values."""
    waiting = iter(values)
    while some := list(islice(waiting, AT_ONCE)):
        yield some
