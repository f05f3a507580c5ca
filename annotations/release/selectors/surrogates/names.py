"""The keys by which an entity with given forms is found."""

from collections.abc import Sequence

from annotations.core.sealing import Key
from annotations.release.rules.redaction.kinds import Kind
from annotations.release.rules.surrogates.clustering import PEOPLE
from annotations.release.rules.surrogates.deciding import identities
from annotations.release.rules.surrogates.folding import folded
from annotations.release.rules.surrogates.people import FAMILY, GIVEN
from annotations.release.rules.surrogates.pipeline import REPEATABLE, Cluster, Mentioned, Surrogate
from annotations.release.selectors.surrogates.index import Sealed, identity_digest


def known_by(kind: Kind, language: str, forms: Sequence[str]) -> Cluster:
    """An entity of which only its forms are known."""
    return Cluster(kind, language, [Mentioned(0, 0, len(form), kind, form) for form in forms])


def is_name(identity: str) -> bool:
    """Whether a folded name says more than initials."""
    return any(len(word) > 1 for word in identity.split())


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
    return [name for name in names if is_name(name)]


def keys_of(key: Key, kind: Kind, sealed: Sealed) -> set[str]:
    """The digests of the names of an entity: of all its forms together, and of each one."""
    if not sealed.forms:
        return set()
    mentions = sealed.mentions(kind)
    names = dict.fromkeys(identities(Cluster(kind, sealed.language, mentions)))
    for one in mentions:
        names |= dict.fromkeys(identities(Cluster(kind, sealed.language, [one])))
    return {identity_digest(key, name) for name in names}
